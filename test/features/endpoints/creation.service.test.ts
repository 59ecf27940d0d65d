import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Viewer } from '../../../src/auth/viewer.ts';
import { type Database, openDatabase } from '../../../src/database/client.ts';
import { behindWall } from '../../../src/database/tenant-client.ts';
import type { VisibleProjectId } from '../../../src/database/tenant-filter.ts';
import { softDeleteProject } from '../../../src/features/deletions/soft-delete.ts';
import { MAX_ENDPOINTS_PER_PROJECT as MAX } from '../../../src/features/endpoints/quota.ts';
import { createEndpointService } from '../../../src/features/endpoints/service.ts';
import { createEventService, type EventService } from '../../../src/features/events/service.ts';
import { newId } from '../../../src/ids.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { insertEndpoints } from '../../support/fill.ts';

const bus = { publish: () => {}, publishHereFirst: () => {} } as never;
const input = { path: '/new', upstreamUrl: 'https://api.example.com/new', priceUsd: '0.01' };

let database: TestDatabase;
let db: Database;
let events: EventService;
let projectId: string;
let user: Viewer;

beforeAll(async () => {
  database = await createTestDatabase();
  db = await openDatabase({ url: database.url, poolSize: 4, log: pino({ level: 'silent' }) });
  events = createEventService({ db: behindWall(db), bus });
});
afterAll(async () => {
  await db?.close();
  await database?.drop();
});

beforeEach(async () => {
  const userId = newId('User');
  await db.prisma.user.create({ data: { id: userId, issuer: 'https://id.example', subject: userId } });
  user = { kind: 'user', userId, tier: 'PRO', requestsPerMinute: null, expiresAt: new Date(Date.now() + 3_600_000) };
  projectId = newId('Project');
  await db.prisma.project.create({ data: { id: projectId, userId, name: 'P', walletAddress: '0x0' } });
});

async function addWebhook(): Promise<string> {
  const values = { projectId, url: 'https://a.example', eventTypes: ['*'], secret: 's' };
  return (await db.prisma.webhook.create({ data: { id: newId('Webhook'), ...values } })).id;
}

/** Returns the service, with a step that runs after the destinations are read and before the endpoint is written. */
function serviceWith(meanwhile: () => Promise<unknown>) {
  let isDone = false;
  const interrupted: EventService = {
    ...events,
    async destinationsIn(...args) {
      const found = await events.destinationsIn(...args);
      if (!isDone) await meanwhile();
      isDone = true;
      return found;
    },
  };
  return createEndpointService({
    db: behindWall(db),
    bus,
    events: interrupted,
    egressAllow: [] as never,
    secretBox: {} as never,
  });
}
const calmly = () => serviceWith(async () => {});

async function stored() {
  const where = { projectId };
  return {
    endpoints: await db.prisma.endpoint.count({ where }),
    events: await db.prisma.event.count({ where }),
    deliveries: await db.prisma.delivery.count({ where }),
    audited: await db.prisma.auditEntry.count({ where }),
  };
}

const NOTHING = { endpoints: 0, events: 0, deliveries: 0, audited: 0 };

describe('creating an endpoint', () => {
  test('takes three statements, no matter how many destinations get its event', async () => {
    await addWebhook();
    await addWebhook();
    const query = vi.spyOn(pg.Client.prototype, 'query');
    const endpoint = await calmly().create(user, projectId, input);
    expect(query.mock.calls).toHaveLength(3);
    query.mockRestore();
    expect(endpoint).toEqual(await db.prisma.endpoint.findUnique({ where: { id: endpoint.id } }));
    expect(await stored()).toEqual({ endpoints: 1, events: 1, deliveries: 2, audited: 1 });
  });

  test('is logged with the name of the API key that was used', async () => {
    const apiKeyId = newId('ApiKey');
    const values = { projectId, name: 'CI', environment: 'TEST' as const, hash: apiKeyId, last4: 'abcd' };
    await db.prisma.apiKey.create({ data: { id: apiKeyId, ...values } });
    const key = { ...user, kind: 'apiKey', apiKeyId, projectId } as unknown as Viewer;
    await calmly().create(key, projectId, input);
    const [entry] = await db.prisma.auditEntry.findMany({ where: { projectId } });
    expect(entry).toMatchObject({
      actorKind: 'API_KEY',
      actorId: apiKeyId,
      actorName: 'CI',
      action: 'endpoint.created',
    });
  });

  test('writes nothing if the path is taken', async () => {
    await calmly().create(user, projectId, input);
    const before = await stored();
    await expect(calmly().create(user, projectId, input)).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await stored()).toEqual(before);
  });

  test("writes nothing in someone else's project, with a token and with a key", async () => {
    const stranger = { ...user, userId: newId('User') } as Viewer;
    const key = {
      ...user,
      kind: 'apiKey',
      apiKeyId: newId('ApiKey'),
      projectId: newId('Project'),
    } as unknown as Viewer;
    for (const viewer of [stranger, key]) {
      await expect(calmly().create(viewer, projectId, input)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    }
    expect(await stored()).toEqual(NOTHING);
  });

  test.each([
    {
      what: 'deleted',
      meanwhile: () => behindWall(db).prisma.$transaction((tx) => softDeleteProject(tx, projectId as VisibleProjectId)),
    },
    { what: 'erased', meanwhile: () => db.prisma.project.delete({ where: { id: projectId } }) },
  ])('writes nothing if the project is $what after it was read', async ({ meanwhile }) => {
    await expect(serviceWith(meanwhile).create(user, projectId, input)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await stored()).toEqual(NOTHING);
  });

  test.each([
    { existing: 0, waiting: '%/* endpoint-insert */%' },
    // So close to the limit, the project is locked first.
    { existing: MAX - 100, waiting: '%FOR NO KEY UPDATE' },
  ])('waits while a project with $existing endpoints is deleted, and then writes nothing', async (given) => {
    await insertEndpoints(db.pool, projectId, given.existing);
    const locked = Promise.withResolvers<void>();
    const committing = Promise.withResolvers<void>();
    const deletion = behindWall(db).prisma.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT 1 FROM "Project" WHERE "id" = ${projectId} FOR UPDATE`;
      await softDeleteProject(tx, projectId as VisibleProjectId);
      locked.resolve();
      await committing.promise;
    });
    await locked.promise;
    const outcome = calmly()
      .create(user, projectId, input)
      .catch(({ code }) => code);
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1`;
    await expect.poll(async () => (await db.pool.query(waiting, [given.waiting])).rowCount).toBe(1);
    committing.resolve();
    await deletion;
    expect(await outcome).toBe('NOT_FOUND');
    expect(await stored()).toEqual(NOTHING);
  });

  test('succeeds if a destination is erased after it was read', async () => {
    const erased = await addWebhook();
    const left = await addWebhook();
    const service = serviceWith(() => db.prisma.webhook.delete({ where: { id: erased } }));
    await service.create(user, projectId, input);
    expect(await db.prisma.delivery.findMany({ where: { projectId } })).toMatchObject([{ webhookId: left }]);
    expect(await stored()).toEqual({ endpoints: 1, events: 1, deliveries: 1, audited: 1 });
  });
});

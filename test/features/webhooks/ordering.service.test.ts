import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBus } from '../../../src/bus/bus.ts';
import { openDatabase } from '../../../src/database/client.ts';
import { behindWall } from '../../../src/database/tenant-client.ts';
import { SAMPLE_PAYLOADS } from '../../../src/events/samples.ts';
import { createEventService } from '../../../src/features/events/service.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createProject, createWebhook, type Resource } from '../../support/resources.ts';

let app: TestApp;
let alice: TestUser;
let base: string;
let projectId: string;
let pool: pg.Pool;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  alice = await app.user('alice', 'ENTERPRISE');
  const project = await createProject(alice);
  ({ base, id: projectId } = project);
  pool = new pg.Pool({ connectionString: app.databaseUrl });
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});

test('only deliveries of payments to an ordered webhook have an ordering key, and turning ordering off releases them', async () => {
  const ordered = await createWebhook(alice, base, { ordering: 'PAYMENT', orderingEscapeAfterAttempts: 7 });
  expect(ordered).toMatchObject({ ordering: 'PAYMENT', orderingEscapeAfterAttempts: 7 });
  const free = await createWebhook(alice, base);
  expect(free).toMatchObject({ ordering: 'NONE', orderingEscapeAfterAttempts: 4 });

  const log = pino({ level: 'silent' });
  const db = await openDatabase({ url: app.databaseUrl, poolSize: 5, log });
  const bus = await openBus({ url: app.databaseUrl, pool: db.pool, log });
  const events = createEventService({ db: behindWall(db), bus });
  const data = SAMPLE_PAYLOADS['payment.settled'];
  const endpoint = SAMPLE_PAYLOADS['endpoint.created'];
  await db.prisma.$transaction(async (tx) => {
    await events.record(tx, { projectId, type: 'payment.settled', data });
    await events.record(tx, { projectId, type: 'endpoint.created', data: endpoint });
    await events.record(tx, { projectId, type: 'payment.settled', data, test: true });
  });
  await bus.close();
  await db.close();

  const keysOf = async (webhookId: string) =>
    (
      await pool.query(`SELECT "orderingKey" FROM "Delivery" WHERE "webhookId" = $1 ORDER BY "id"`, [webhookId])
    ).rows.map(({ orderingKey }) => orderingKey);
  expect(await keysOf(ordered.id)).toEqual([data.paymentId, null, null]);
  expect(await keysOf(free.id)).toEqual([null, null, null]);

  // Changing the ordering releases the deliveries that wait for it.
  const held = `UPDATE "Delivery" SET "nextAttemptAt" = NULL, "reason" = 'ordering' WHERE "orderingKey" IS NOT NULL`;
  await pool.query(held);
  const waiting = async () =>
    (await pool.query(`SELECT FROM "Delivery" WHERE "webhookId" = $1 AND "nextAttemptAt" IS NULL`, [ordered.id]))
      .rowCount;
  const patch = (body: object) => alice.rest<Resource>('PATCH', `${base}/webhooks/${ordered.id}`, body);
  expect((await patch({ description: 'x' })).body).toMatchObject({
    ordering: 'PAYMENT',
    orderingEscapeAfterAttempts: 7,
  });
  expect(await waiting()).toBe(1);
  // Neither do the same values again.
  await patch({ ordering: 'PAYMENT', orderingEscapeAfterAttempts: 7 });
  expect(await waiting()).toBe(1);
  expect((await patch({ orderingEscapeAfterAttempts: 1 })).body.orderingEscapeAfterAttempts).toBe(1);
  expect(await waiting()).toBe(0);
  await pool.query(held);
  expect((await patch({ ordering: 'NONE' })).body.ordering).toBe('NONE');
  expect(await waiting()).toBe(0);
  expect(await keysOf(ordered.id)).toEqual([null, null, null]);
});

test.each([{ ordering: 'CUSTOMER' }, { orderingEscapeAfterAttempts: 0 }, { orderingEscapeAfterAttempts: 101 }])(
  'a webhook cannot have %j',
  async (fields) => {
    const response = await alice.rest('POST', `${base}/webhooks`, {
      url: 'https://a.example.com',
      eventTypes: ['*'],
      ...fields,
    });
    expect(response).toMatchObject({ status: 422, body: { errors: [{ pointer: `/${Object.keys(fields)[0]}` }] } });
  },
);

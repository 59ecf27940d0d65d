import { createHash } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import pino from 'pino';
import { type App, startApp } from '../../../src/app.ts';
import { openBus, topics } from '../../../src/bus/bus.ts';
import { readConfig } from '../../../src/config/config.ts';
import { openDatabase } from '../../../src/database/client.ts';
import { applyMigrations } from '../../../src/database/migrations.ts';
import { behindWall } from '../../../src/database/tenant-client.ts';
import { newWebhookSecret } from '../../../src/delivery/send/signing.ts';
import { createEventService } from '../../../src/features/events/service.ts';
import { newId } from '../../../src/ids.ts';
import { createLog } from '../../../src/log.ts';
import { parseKeyring } from '../../../src/secrets/keyring.ts';
import { createSecretBox } from '../../../src/secrets/secret-box.ts';
import { countStatements } from '../../support/statements.ts';
import { type Claim, type Engine, type EngineOptions, FILLER } from '../engine.ts';

// All processes need the same key.
const SECRET_KEYS = `bench:${createHash('sha256').update('bench').digest('base64')}`;
const MIGRATIONS = join(import.meta.dirname, '../../../prisma/migrations');
const LOAD_CHUNK = 5_000;

/** Tollgate as it runs with `ROLES=worker`, with its log discarded, plus its event service for publishing. */
export async function createEngine({ databaseUrl, urls, otherUrls = [] }: EngineOptions): Promise<Engine> {
  const counted = countStatements();
  const { query } = pg.Client.prototype;
  const claims: Claim[] = [];
  pg.Client.prototype.query = function (this: pg.Client, ...args: Parameters<typeof query>) {
    return query.apply(this, noteClaim(claims, args) as typeof args);
  } as typeof query;

  const config = readConfig({
    NODE_ENV: 'test',
    PORT: '0',
    DATA_DIR: mkdtempSync(join(tmpdir(), 'tollgate-bench-')),
    ROLES: 'worker',
    SANDBOX: 'off',
    SECRET_KEYS,
    EGRESS_ALLOW: '127.0.0.0/8:*',
  });
  const log = pino({ level: 'silent' });
  const db = await openDatabase({ url: databaseUrl, poolSize: 10, log });
  const bus = await openBus({ url: databaseUrl, pool: db.pool, log });
  const events = createEventService({ db: behindWall(db), bus });
  const secretBox = createSecretBox(parseKeyring(SECRET_KEYS));
  let app: App | undefined;
  let projectId: string | undefined;

  async function project(): Promise<string> {
    // Leaves out the reserved project, which has no webhooks.
    const first = 'SELECT "projectId" AS "id" FROM "Webhook" ORDER BY "projectId" LIMIT 1';
    projectId ??= (await db.pool.query<{ id: string }>(first)).rows[0]!.id;
    return projectId;
  }

  async function createAccount(subject: string, urls: readonly string[]): Promise<void> {
    const user = await db.prisma.user.create({ data: { id: newId('User'), issuer: 'https://id.example', subject } });
    const { id } = await db.prisma.project.create({
      data: { id: newId('Project'), userId: user.id, name: 'Bench', walletAddress: '0x0' },
    });
    const webhooks = urls.map((url) => {
      const webhookId = newId('Webhook');
      const cell = { table: 'Webhook', column: 'secret', rowId: webhookId, projectId: id };
      const secret = secretBox.seal(newWebhookSecret(), cell);
      return { id: webhookId, projectId: id, url, origin: new URL(url).origin, eventTypes: ['*'], secret };
    });
    for (let index = 0; index < webhooks.length; index += LOAD_CHUNK)
      await db.prisma.webhook.createMany({ data: webhooks.slice(index, index + LOAD_CHUNK) });
  }

  const data = { endpointId: newId('Endpoint'), path: '/now', upstreamUrl: 'https://up.example', priceUsd: '0.01' };
  const payload = { ...data, description: FILLER };

  return {
    async prepare() {
      await applyMigrations(databaseUrl, MIGRATIONS, log);
      await createAccount('b', urls);
      if (otherUrls.length > 0) await createAccount('c', otherUrls);
    },

    async load(count, destinations, dueInSeconds = 0) {
      const { rows } = await db.pool.query<{ id: string; projectId: string }>(
        `SELECT "id", "projectId" FROM "Webhook" WHERE "url" = ANY($1) ORDER BY "id"`,
        [destinations],
      );
      const text = JSON.stringify(payload);
      for (let done = 0; done < count; done += LOAD_CHUNK) {
        const indexes = Array.from({ length: Math.min(LOAD_CHUNK, count - done) }, (_, index) => done + index);
        const columns = [
          indexes.map(() => newId('Event')),
          indexes.map(() => newId('Delivery')),
          indexes.map((index) => rows[index % rows.length]!.id),
        ];
        await db.pool.query(
          `WITH new AS (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) AS new(event, delivery, webhook)),
           events AS (
             INSERT INTO "Event" ("id", "projectId", "type", "data") SELECT event, $4, 'endpoint.created', $5 FROM new
           )
           INSERT INTO "Delivery" ("id", "projectId", "eventId", "eventType", "webhookId", "nextAttemptAt")
           SELECT delivery, $4, event, 'endpoint.created', webhook, now() + make_interval(secs => $6) FROM new`,
          [...columns, rows[0]!.projectId, text, dueInSeconds],
        );
      }
      bus.publish(topics.deliveriesDue);
    },

    async publish() {
      const id = await project();
      const recorded = await db.prisma.$transaction((tx) =>
        events.record(tx, { projectId: id, type: 'endpoint.created', data: payload }),
      );
      events.announce(id);
      return recorded.eventId;
    },

    async start() {
      app = await startApp({ config, databaseUrl, log: createLog('info') });
    },

    async recorded() {
      const { rows } = await db.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM "Attempt"');
      return rows[0]!.n;
    },

    async stop() {
      await app?.stop();
      await bus.close();
      await db.close();
    },

    statements: () => counted().statements,
    claims: () => claims,
  };
}

/** Wraps the pool's callback, to add a claim to the list once the statement has finished. */
function noteClaim(claims: Claim[], args: readonly unknown[]): readonly unknown[] {
  const { name, values } = (args[0] ?? {}) as pg.QueryConfig;
  const callback = args.at(-1);
  if (!name?.startsWith('delivery_claim') || typeof callback !== 'function') return args;
  const startedAt = performance.now();
  const isComplete = (values?.at(-1) as number[] | undefined)?.[0] === Number.NEGATIVE_INFINITY;
  const note = (...results: unknown[]) => {
    claims.push({ name, isComplete, milliseconds: performance.now() - startedAt });
    callback(...results);
  };
  return [...args.slice(0, -1), note];
}

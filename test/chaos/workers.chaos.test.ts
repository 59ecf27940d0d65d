import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts';
import { applyMigrations } from '../../src/database/migrations.ts';
import { newWebhookSecret } from '../../src/delivery/send/signing.ts';
import { newId } from '../../src/ids.ts';
import { parseKeyring } from '../../src/secrets/keyring.ts';
import { createSecretBox } from '../../src/secrets/secret-box.ts';
import { until } from '../delivery/support.ts';
import { type NodeProcess, startNode } from '../support/node-process.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

const EVENTS = 1_500;
const WORKERS = 3;
const KILL_EVERY = 100;
const RESTART_EVERY = 600;
const KEYS = `k1:${randomBytes(32).toString('base64')}`;

let dataDir: string;
let postgres: EmbeddedPostgres;
let pool: pg.Pool;
let receiver: Receiver;
const workers: NodeProcess[] = [];
const received = new Map<string, number>();

// Below the ports that outgoing connections are given, one of which could take it while the server is down.
const port = 20_000 + Math.floor(Math.random() * 10_000);
const startPostgres = () => startEmbeddedPostgres({ dataDir, port, log: pino({ level: 'silent' }) });
const startWorker = () => startNode(join(import.meta.dirname, 'worker.ts'), [postgres.url, KEYS]);

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-chaos-'));
  await chmod(dataDir, 0o711);
  postgres = await startPostgres();
  pool = new pg.Pool({ connectionString: postgres.url, max: 5 });
  pool.on('error', () => {});
  await applyMigrations(pool, resolve(import.meta.dirname, '../../prisma/migrations'), pino({ level: 'silent' }));
  receiver = await startReceiver(({ headers }, response) => {
    const id = String(headers['webhook-id']);
    received.set(id, (received.get(id) ?? 0) + 1);
    const chance = Math.random();
    if (chance < 0.05) return { statusCode: 500 };
    if (chance < 0.08) response.destroy();
    return chance < 0.08 ? undefined : {};
  });
});

afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.end('SIGKILL')));
  await receiver.close();
  await pool.end();
  await postgres.stop();
  await rm(postgres.dataDir, { recursive: true, force: true });
  await rm(dataDir, { recursive: true, force: true });
});

/** Stops PostgreSQL as a power cut would, and starts it again. */
async function restartPostgres(): Promise<void> {
  const { rows } = await pool.query(`SELECT pg_read_file('postmaster.pid') AS text`);
  process.kill(Number.parseInt(rows[0].text, 10), 'SIGQUIT');
  await until(() =>
    pool.query('SELECT 1').then(
      () => false,
      () => true,
    ),
  );
  await postgres.stop();
  postgres = await startPostgres();
}

/** Until the database has said yes; what it has not answered for may or may not be there. */
async function acknowledged(sql: string, values: unknown[]): Promise<void> {
  for (;;) {
    try {
      await pool.query(sql, values);
      return;
    } catch {
      await sleep(20);
    }
  }
}

it('loses nothing while workers and the database are killed over and over', async () => {
  const [userId, projectId, webhookId] = [newId('User'), newId('Project'), newId('Webhook')];
  const cell = { table: 'Webhook', column: 'secret', rowId: webhookId, projectId };
  const secret = createSecretBox(parseKeyring(KEYS)).seal(newWebhookSecret(), cell);
  await pool.query(`INSERT INTO "User" ("id", "issuer", "subject") VALUES ($1, 'i', 's')`, [userId]);
  await pool.query(`INSERT INTO "Project" ("id", "userId", "name", "walletAddress") VALUES ($1, $2, 'P', '0x')`, [
    projectId,
    userId,
  ]);
  await pool.query(
    `INSERT INTO "Webhook" ("id", "projectId", "url", "eventTypes", "secret") VALUES ($1, $2, $3, '{*}', $4)`,
    [...[webhookId, projectId, receiver.url, secret]],
  );
  const originalUrl = postgres.url;
  for (let count = 0; count < WORKERS; count++) workers.push(startWorker());

  const eventIds: string[] = [];
  let kills = 0;
  let restarts = 0;
  async function record(): Promise<void> {
    for (let count = 0; count < EVENTS; count++) {
      const eventId = newId('Event');
      await acknowledged(
        `WITH event AS (
           INSERT INTO "Event" ("id", "projectId", "type", "data") VALUES ($1, $2, 'endpoint.created', '{}')
           ON CONFLICT DO NOTHING RETURNING "id"
         )
         INSERT INTO "Delivery" ("id", "projectId", "eventId", "eventType", "webhookId")
         SELECT $3, $2, "id", 'endpoint.created', $4 FROM event`,
        [eventId, projectId, newId('Delivery'), webhookId],
      );
      eventIds.push(eventId);
    }
  }

  async function destroy(): Promise<void> {
    for (let next = KILL_EVERY; next < EVENTS; next += KILL_EVERY) {
      await until(
        () => received.size >= next,
        () => `${next} events`,
        60_000,
      );
      kills++;
      await workers.shift()!.end('SIGKILL');
      if (next % RESTART_EVERY === 0) {
        restarts++;
        await restartPostgres();
        expect(postgres.url).toBe(originalUrl);
      }
      workers.push(startWorker());
    }
  }

  await Promise.all([record(), destroy()]);
  const states = async () => {
    const { rows } = await pool.query(`SELECT "status", count(*)::int AS n FROM "Delivery" GROUP BY 1`);
    return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
  };
  await until(
    async () => (await states()).SUCCEEDED === EVENTS,
    () => 'all deliveries to succeed',
    60_000,
  );

  expect(await states()).toEqual({ SUCCEEDED: EVENTS });
  expect(eventIds.filter((id) => !received.has(id))).toEqual([]);
  const { rows } = await pool.query(
    `SELECT count(*)::int AS n FROM "Delivery" d
     WHERE "attemptCount" <> (SELECT count(*) FROM "Attempt" a WHERE a."deliveryId" = d."id")`,
  );
  expect(rows[0].n).toBe(0);
  const requests = [...received.values()].reduce((sum, count) => sum + count, 0);
  console.info(
    `${EVENTS} events, ${requests} requests, ${kills} workers and ${restarts} databases killed, nothing lost`,
  );
}, 180_000);

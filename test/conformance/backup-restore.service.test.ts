import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import pino from 'pino';
import { Webhook } from 'standardwebhooks';
import { custom } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { PaymentRail } from '../../src/gateway/chain/rails.ts';
import { codeBlocks, readPage, section } from '../docs/pages.ts';
import { NETWORK, payingFetch } from '../gateway/support.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { runCli } from '../support/cli.ts';
import { findInstalledPostgres, type InstalledServer, startInstalledPostgres } from '../support/installed-postgres.ts';
import { insertPayment } from '../support/payments.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createEndpoint, createKey, createProject, createWebhook } from '../support/resources.ts';
import { runShell } from '../support/run-shell.ts';

type EventItem = { cursor: string; event: { id: string } };

const programs = await findInstalledPostgres();
if (!programs) {
  console.warn(
    'Skipped: backup and restore, because pg_dump and its server (the package postgresql) are not installed.',
  );
}
const [backUp, restore] = codeBlocks(section(await readPage('docs/operations.md'), '## Backup and restore'), 'sh');

/** Delays the next attempt until after the backup. */
const delivery = { retryScheduleSeconds: [8] };

describe.skipIf(!programs)('a backup restored to another server with the commands in docs/operations.md', () => {
  let servers: InstalledServer[] = [];
  let folder: string;
  let receiver: Receiver;
  let before: TestApp;
  let after: TestApp | undefined;
  let owner: TestUser;
  let project: Awaited<ReturnType<typeof createProject>>;
  let webhook: Awaited<ReturnType<typeof createWebhook>>;
  let key: string;
  let endpointId: string;
  let seen: EventItem;
  let lostId: string;
  const lines: { level: number; msg: string; reason?: string }[] = [];
  const warnings = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line)) });
  /** What reached the facilitator, and whether the chain was asked. */
  const settled: string[] = [];
  let lookups = 0;
  const rails: PaymentRail[] = [
    {
      network: NETWORK,
      facilitator: {
        supported: async () => [],
        probe: async () => 400,
        verify: () => Promise.reject(new Error('No new payment is accepted in this test.')),
        settle: async ({ paymentPayload }) => {
          settled.push(JSON.stringify(paymentPayload));
          return { kind: 'settled', transactionHash: `0x${'ab'.repeat(32)}` };
        },
      },
      transport: custom({
        request: async () => {
          lookups += 1;
          throw new Error('The node is down.');
        },
      }),
    },
  ];
  const told = { rows: {}, partitions: [] as string[], project: {}, deliveries: {}, revenue: {} };

  beforeAll(async () => {
    servers = await Promise.all([startInstalledPostgres(programs!), startInstalledPostgres(programs!)]);
    // A server that has run for a long time has much higher transaction IDs than a new one.
    await withDatabase(servers[0]!.url, (sql) =>
      sql.query('DO $$ BEGIN FOR i IN 1..5000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$'),
    );
    folder = await mkdtemp(join(tmpdir(), 'tollgate-backup-'));
    receiver = await startReceiver(() => ({ statusCode: 503 }));
    before = await startTestApp({ databaseUrl: servers[0]!.url, dataDir: folder, delivery });
    owner = await before.user('alice');
    project = await createProject(owner);
    key = (await createKey(owner, project.base)).key;
    webhook = await createWebhook(owner, project.base, { url: receiver.url });
    const live = await subscribe(owner.token, before.url, null);
    endpointId = (await createEndpoint(owner, project.base, { path: '/weather' })).id;
    await withDatabase(servers[0]!.url, async (sql) => {
      const { paymentId } = await insertPayment(sql, { projectId: project.id, endpointId, mark: 'settling' });
      // Its process died while the facilitator was settling it.
      await sql.query(
        `UPDATE "Payment" SET "status" = 'SETTLING', "settledAt" = NULL, "transactionHash" = NULL, "leasedUntil" = now(),
           "validBefore" = now() + interval '1 hour', "authorization" = '{"paymentPayload": "of the buyer"}' WHERE "id" = $1`,
        [paymentId],
      );
      await sql.query('DELETE FROM "RevenueDay"');
      await insertPayment(sql, { projectId: project.id, endpointId, mark: 'paid' });
    });
    seen = await live.next();
    await live.close();
    await receiver.waitFor(1);
    await vi.waitFor(async () => expect(await deliveryStatus(before.url)).toEqual(['PENDING']), { timeout: 60_000 });
    told.project = (await owner.rest('GET', project.base)).body as object;
    told.revenue = (await owner.rest('GET', `${project.base}/revenue`)).body as object;
    told.rows = await countRows(servers[0]!.url);
    told.partitions = await listPartitions(servers[0]!.url);

    const { exitCode, stderr } = await run(backUp!, servers[0]!);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    lostId = (await createEndpoint(owner, project.base)).id;
    await before.stop();
    const restored = await run(restore!, servers[1]!);
    expect({ exitCode: restored.exitCode, stderr: restored.stderr }).toEqual({ exitCode: 0, stderr: '' });
  });

  afterAll(async () => {
    await after?.stop();
    await receiver?.close();
    await Promise.all(servers.map((server) => server.stop()));
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  /** Runs the commands from the page in a separate folder, with the tools of the server's version. */
  const run = (commands: string, { url }: InstalledServer) =>
    runShell(`cd "$FOLDER" && ${commands}`, {
      DATABASE_URL: url,
      FOLDER: folder,
      PATH: `${programs}:${process.env.PATH}`,
    });

  test('has every row and every partition', async () => {
    expect(await countRows(servers[1]!.url)).toEqual(told.rows);
    expect(Object.keys(told.rows)).toEqual(expect.arrayContaining(['Payment', 'RevenueDay', '_prisma_migrations']));
    expect(await listPartitions(servers[1]!.url)).toEqual(told.partitions);
    expect(told.partitions.length).toBeGreaterThan(9);
  });

  test('sends and settles nothing on its own', async () => {
    receiver.handle(() => ({}));
    const sent = receiver.requests.length;
    const taken = await leasesTaken();
    after = await startTestApp({ databaseUrl: servers[1]!.url, dataDir: folder, delivery, rails, log: warnings });
    // Workers report every second that they are alive. By the third time, all loops have had a round.
    const signs = new Set<string>();
    await expect.poll(async () => signs.add(await lastSign()).size).toBeGreaterThan(3);
    expect(receiver.requests).toHaveLength(sent);
    expect({ settled, lookups }).toEqual({ settled: [], lookups: 0 });
    expect(await leasesTaken()).toEqual(taken);
    expect(lines).toContainEqual(expect.objectContaining({ reason: 'copied', msg: expect.stringMatching(/adopt/) }));
    expect(await (await fetch(`${after!.url}/readyz`)).json()).toEqual({
      status: 'on hold',
      detail: expect.stringMatching(/copy.*adopt/),
    });
    expect(await (await fetch(`${after!.url}/metrics`)).text()).toContain('\ntollgate_on_hold 1\n');
  });

  test('takes no payments, because the original may be taking them', async () => {
    const url = `${after!.url}/gateway/${project.id}/weather`;
    expect((await fetch(url)).status).toBe(402);
    const refused = await payingFetch(privateKeyToAccount(generatePrivateKey()))(url);
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({
      code: 'UNAVAILABLE',
      detail: expect.stringMatching(/wasn’t charged/),
    });
    expect(refused.headers.get('retry-after')).toBe('60');
  });

  test('serves the same data to the same tokens and API keys', async () => {
    expect((await after!.caller(owner.token).rest('GET', project.base)).body).toEqual(told.project);
    const withKey = after!.caller(key);
    expect((await withKey.rest('GET', `${project.base}/revenue`)).body).toEqual(told.revenue);
    expect((await withKey.rest('GET', `${project.base}/endpoints/${lostId}`)).status).toBe(404);
  });

  test('continues its deliveries and settles its payments once it is adopted', async () => {
    const env = { NODE_ENV: 'test', DATABASE_URL: servers[1]!.url, DATA_DIR: folder };
    const { code, stdout } = await runCli(['adopt', '--json'], env);
    expect({ code, ...JSON.parse(stdout) }).toEqual({
      code: 0,
      isOnHold: false,
      wasOnHold: 'copied',
      skippedDeliveries: 0,
    });
    await expect.poll(() => settled).toEqual(['"of the buyer"']);
    // The chain is asked before a settlement is sent again.
    expect(lookups).toBeGreaterThan(0);
    await expect.poll(() => paymentStatuses()).toEqual(['SETTLED', 'SETTLED']);

    const id = seen.event.id;
    // The settlement is an event too.
    await expect.poll(() => deliveryStatus(after!.url), { interval: 500 }).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    const [first] = receiver.requests;
    const last = receiver.requests.findLast(({ headers }) => headers['webhook-id'] === id)!;
    expect(last.body.equals(first!.body)).toBe(true);
    expect(
      new Webhook(webhook.secret).verify(last.body.toString(), last.headers as Record<string, string>),
    ).toMatchObject({ id });
  });

  test('supports resuming live feeds from old cursors, and creates IDs that sort after the old ones', async () => {
    const live = await subscribe(key, after!.url, seen.cursor);
    const { id } = await createEndpoint(after!.caller(key), project.base);
    const items: EventItem[] = [];
    // Events close to the cursor are sent again, because the server can't know which ones the client has seen.
    do items.push(await live.next());
    while (items.at(-1)!.event.id === seen.event.id);
    await live.close();
    expect(items[0]).toMatchObject({ event: seen.event });
    expect(items.at(-1)!.event.id > seen.event.id).toBe(true);
    expect(id > endpointId).toBe(true);
  });

  test('puts new rows into the partitions for their time', async () => {
    const rows = await withDatabase(
      servers[1]!.url,
      async (sql) => (await sql.query('SELECT FROM "Event_default"')).rows,
    );
    expect(rows).toEqual([]);
  });

  async function paymentStatuses(): Promise<string[]> {
    const { rows } = await withDatabase(servers[1]!.url, (sql) => sql.query(`SELECT "status" FROM "Payment"`));
    return rows.map(({ status }) => status);
  }

  /** When a worker of the restored copy last reported that it is alive. */
  async function lastSign(): Promise<string> {
    const { rows } = await withDatabase(servers[1]!.url, (sql) =>
      sql.query(`SELECT coalesce(max("seenAt"), 'epoch')::text AS "last" FROM "Worker"`),
    );
    return rows[0].last;
  }

  /** How often processes have taken the deliveries and the payments of the restored copy. */
  async function leasesTaken(): Promise<Record<string, number>> {
    const { rows } = await withDatabase(servers[1]!.url, (sql) =>
      sql.query(`SELECT "id", "leaseToken" FROM "Delivery" UNION ALL SELECT "id", "leaseToken" FROM "Payment"`),
    );
    return Object.fromEntries(rows.map(({ id, leaseToken }) => [id, leaseToken]));
  }

  async function deliveryStatus(url: string): Promise<string[]> {
    const query = `{ project(id: "${project.id}") { deliveries { nodes { status attemptCount } } } }`;
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    const { data } = (await response.json()) as {
      data: { project: { deliveries: { nodes: { status: string; attemptCount: number }[] } } };
    };
    return data.project.deliveries.nodes.filter(({ attemptCount }) => attemptCount > 0).map(({ status }) => status);
  }

  /** Subscribes to the project's events over server-sent events. */
  async function subscribe(credential: string, url: string, after: string | null) {
    const query = `subscription($after: String) {
      eventRecorded(projectId: "${project.id}", after: $after) { cursor event { id } }
    }`;
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${credential}`,
        'content-type': 'application/json',
        accept: 'text/event-stream',
      },
      body: JSON.stringify({ query, variables: { after } }),
    });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    return {
      async next(): Promise<EventItem> {
        for (;;) {
          const [whole, data] = /^event: next\ndata: (.*)\n\n/m.exec(text) ?? [];
          if (whole) {
            text = text.slice(text.indexOf(whole) + whole.length);
            return JSON.parse(data!).data.eventRecorded;
          }
          const { value, done } = await reader.read();
          if (done) throw new Error(`The stream ended: ${text}`);
          text += value;
        }
      },
      close: () => reader.cancel(),
    };
  }
});

async function withDatabase<T>(url: string, run: (sql: pg.Client) => Promise<T>): Promise<T> {
  const sql = new pg.Client({ connectionString: url });
  await sql.connect();
  try {
    return await run(sql);
  } finally {
    await sql.end();
  }
}

/** Counts the rows of each table. */
function countRows(url: string): Promise<Record<string, number>> {
  return withDatabase(url, async (sql) => {
    const { rows } = await sql.query(
      `SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
         AND relnamespace = 'public'::regnamespace ORDER BY relname`,
    );
    const counts: Record<string, number> = {};
    for (const { relname } of rows) {
      const { rows: counted } = await sql.query(`SELECT count(*)::int FROM "${relname}"`);
      counts[relname] = counted[0].count;
    }
    return counts;
  });
}

/** Lists every partition with its range. */
function listPartitions(url: string): Promise<string[]> {
  return withDatabase(url, async (sql) => {
    const { rows } = await sql.query(
      `SELECT relname, pg_get_expr(relpartbound, oid) AS bounds FROM pg_class WHERE relispartition AND relkind = 'r'
       ORDER BY relname`,
    );
    return rows.map(({ relname, bounds }) => `${relname} ${bounds}`);
  });
}

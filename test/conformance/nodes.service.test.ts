import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from 'graphql-sse';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openDevIssuer } from '../../src/auth/dev-issuer.ts';
import { DELETED_PROJECT_ID } from '../../src/features/deletions/soft-delete.ts';
import { sign, v2Headers } from '../gateway/sign.ts';
import { createShop, payingFetch, startRails } from '../gateway/support.ts';
import { caller } from '../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { metricValue, readMetrics } from '../support/metrics.ts';
import { pace } from '../support/pace.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { create, createProject, createWebhook, GOOD } from '../support/resources.ts';
import { type ServiceNode, startServiceNode } from '../support/service-node.ts';

// Several processes, each with one role, share a database as if they ran on separate machines.

const WAIT = { timeout: 60_000, interval: 50 };

let database: TestDatabase;
let dataDir: string;
let token: string;
let receiver: Receiver;
let sql: pg.Pool;
let nodes: ServiceNode[];

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-nodes-'));
  token = await (await openDevIssuer({ dataDir })).sign({ subject: 'alice', tier: 'ENTERPRISE' });
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));
beforeEach(async () => {
  database = await createTestDatabase();
  sql = new pg.Pool({ connectionString: database.url, max: 2 });
  sql.on('error', () => {});
  receiver = await startReceiver();
  nodes = [];
});
afterEach(async () => {
  for (const node of nodes) await node.end('SIGKILL');
  await receiver.close();
  await sql.end();
  await database.drop();
});

async function start(
  role: ServiceNode['role'],
  clockShiftSeconds = 0,
  env: Record<string, string> = {},
): Promise<ServiceNode> {
  const node = await startServiceNode({ role, databaseUrl: database.url, dataDir, clockShiftSeconds, env });
  nodes.push(node);
  return node;
}

const alice = ({ url }: ServiceNode) => caller(url, 'alice', token);
const receivedIds = () => receiver.requests.map(({ headers }) => String(headers['webhook-id']));

/** Creates a project, a webhook, and a function that causes an event through a node. */
async function furnish(node: ServiceNode) {
  const { id: projectId, base } = await createProject(alice(node));
  const webhook = await createWebhook(alice(node), base, { url: receiver.url });
  let count = 0;
  const publish = (at: ServiceNode) =>
    create(alice(at), `${base}/endpoints`, { ...GOOD.endpoint, path: `/event-${++count}` });
  return { projectId, base, webhook, publish };
}

/** Subscribes to a node and returns the list to which it adds each event ID. */
async function follow({ url }: ServiceNode, projectId: string): Promise<string[]> {
  const told: string[] = [];
  const client = createClient({ url: `${url}/graphql`, headers: { authorization: `Bearer ${token}` } });
  const query = 'subscription ($id: ID!) { eventRecorded(projectId: $id) { event { id } } }';
  client.subscribe<{ eventRecorded: { event: { id: string } } }>(
    { query, variables: { id: projectId } },
    { next: ({ data }) => void told.push(data!.eventRecorded.event.id), error: () => {}, complete: () => {} },
  );
  const listening = async () => metricValue(await readMetrics(url), 'tollgate_live_subscriptions');
  await expect.poll(listening, WAIT).toBe(1);
  return told;
}

const eventIds = async () => (await sql.query<{ id: string }>('SELECT "id" FROM "Event"')).rows.map(({ id }) => id);

describe('nodes with wrong clocks', () => {
  test("lose no feed entries, delay no deliveries, and use the database's time", async () => {
    const [slow, fast] = await Promise.all([start('api', -600), start('api', 600), start('worker', 600)]);
    const { projectId, base, webhook, publish } = await furnish(slow);
    const told = await follow(slow, projectId);
    const order: ServiceNode[] = [fast, slow, fast, slow];
    for (const [index, node] of order.entries()) {
      await publish(node);
      await expect.poll(() => told.length, WAIT).toBe(index + 1);
    }
    expect(told).toEqual(told.toSorted());
    await expect.poll(receivedIds, WAIT).toHaveLength(order.length);
    expect(receivedIds().toSorted()).toEqual(told);

    const off = async (expression: string, table: string) => {
      const { rows } = await sql.query(
        `SELECT max(abs(extract(epoch FROM now() - (${expression}))))::float8 AS seconds FROM "${table}" WHERE "id" <> $1`,
        [DELETED_PROJECT_ID],
      );
      return rows[0].seconds;
    };
    expect(await off('"timestamp"', 'Event')).toBeLessThan(300);
    for (const column of ['"createdAt"', '"updatedAt"']) expect(await off(column, 'Delivery')).toBeLessThan(300);
    expect(await off('"startedAt"', 'Attempt')).toBeLessThan(300);
    for (const node of [slow, fast]) {
      await alice(node).rest('POST', `${base}/webhooks/${webhook.id}/rotate-secret`, { overlapHours: 1 });
      expect(await off(`"previousSecretExpiresAt" - interval '1 hour'`, 'Webhook')).toBeLessThan(300);
    }

    const { id: connectorId } = await create(alice(fast), `${base}/connectors`, GOOD.connector);
    const { id: endpointId } = await publish(fast);
    const paths = {
      Project: base,
      Endpoint: `${base}/endpoints/${endpointId}`,
      Webhook: `${base}/webhooks/${webhook.id}`,
      Connector: `${base}/connectors/${connectorId}`,
    };
    for (const [table, path] of Object.entries(paths)) {
      expect(await off('"updatedAt"', table), table).toBeLessThan(300);
      const { status } = await alice(fast).rest('PATCH', path, {});
      expect(status, table).toBe(200);
      expect(await off('"updatedAt"', table), table).toBeLessThan(300);
    }
  });
});

describe('gateways with wrong clocks', () => {
  test("sell by the database's clock, and warn", async () => {
    const rails = await startRails();
    try {
      const { env } = rails;
      const sell = (role: ServiceNode['role'], shift: number) => start(role, shift, env);
      const [ahead, behind] = await Promise.all([sell('api,gateway', 90), sell('gateway', -90)]);
      const shop = await createShop(ahead, alice(ahead), {
        '/usual': { upstreamUrl: receiver.url },
        '/slow': { upstreamUrl: receiver.url, timeoutSeconds: 60 },
      });
      const buyer = await rails.wallet();
      const { startedAt } = (await sql.query('SELECT now() AS "startedAt"')).rows[0];
      for (const { url, printed } of [ahead, behind]) {
        const validBefore = String(Math.floor(Date.now() / 1000) + 60);
        const headers = v2Headers(await sign(buyer, { validBefore }));
        // Too late for an endpoint that needs 75 s.
        expect((await fetch(`${url}/gateway/${shop.projectId}/usual`, { headers })).status, url).toBe(402);
        for (const path of ['usual', 'slow']) {
          const response = await payingFetch(buyer)(`${url}/gateway/${shop.projectId}/${path}`);
          expect(response.status, `${url}: ${path}: ${await response.text()}`).toBe(200);
        }
        await expect.poll(printed, WAIT).toContain("the database's; synchronize both with NTP");
        const metrics = await readMetrics(url);
        expect(Math.round(metricValue(metrics, 'tollgate_clock_offset_seconds'))).toBe(url === ahead.url ? 90 : -90);
      }
      // The times of settlements are the database's, so they lie between the start of the sales and now.
      const { rows } = await sql.query(
        'SELECT count(*)::int, bool_and("settledAt" BETWEEN $1 AND now()) AS "isTrue" FROM "Payment"',
        [startedAt],
      );
      expect(rows).toEqual([{ count: 4, isTrue: true }]);
    } finally {
      await rails.close();
    }
  });
});

describe('a rolling restart', () => {
  test('loses no events, and sends none twice, while servers and workers restart', async () => {
    const [api, gateway] = await Promise.all([start('api'), start('gateway')]);
    const workers = await Promise.all([start('worker'), start('worker')]);
    const { projectId, publish } = await furnish(api);
    let isOver = false;
    let published = 0;
    const publishing = (async () => {
      while (!isOver) {
        // A restarting server refuses connections, so the client retries.
        await publish(api).then(
          () => published++,
          () => pace(20),
        );
      }
    })();
    try {
      for (const node of [...workers, api, gateway, ...workers]) {
        const before = receiver.requests.length;
        await receiver.waitFor(before + 20);
        expect(await node.end()).toBe(0);
        await node.start();
      }
    } finally {
      isOver = true;
      await publishing;
    }
    const ids = await eventIds();
    expect(ids.length).toBeGreaterThanOrEqual(published);
    await expect.poll(() => new Set(receivedIds()).size, WAIT).toBe(ids.length);
    expect(receivedIds().toSorted()).toEqual(ids.toSorted());
    const { status } = await fetch(`${gateway.url}/gateway/${projectId}/event-1`);
    expect(status).toBe(402);
  });
});

describe('without hints', () => {
  test("nodes still find each other's changes to deliveries, the feed, and prices", async () => {
    // Shadows the function in pg_catalog and only counts calls.
    await sql.query('CREATE SEQUENCE hints');
    await sql.query(
      `CREATE FUNCTION pg_notify(text, text) RETURNS void LANGUAGE sql AS $$ SELECT nextval('public.hints') $$`,
    );
    const name = new URL(database.url).pathname.slice(1);
    await sql.query(`ALTER DATABASE ${name} SET search_path = public, pg_catalog`);
    const [api, other, gateway] = await Promise.all([start('api'), start('api'), start('gateway'), start('worker')]);
    const { projectId, base, publish } = await furnish(api);
    const told = await follow(other, projectId);
    const { id } = await publish(api);
    await expect.poll(receivedIds, WAIT).toHaveLength(1);
    await expect.poll(() => told, WAIT).toEqual(receivedIds());

    const price = async () => {
      const response = await fetch(`${gateway.url}/gateway/${projectId}/event-1`);
      const { accepts } = (await response.json()) as { accepts?: { amount?: string; maxAmountRequired?: string }[] };
      return accepts?.[0]?.amount ?? accepts?.[0]?.maxAmountRequired;
    };
    expect(await price()).toBe('10000');
    await alice(api).rest('PATCH', `${base}/endpoints/${id}`, { priceUsd: '0.02' });
    await expect.poll(price, WAIT).toBe('20000');
    const { rows } = await sql.query(`SELECT "is_called" FROM hints`);
    expect(rows).toEqual([{ is_called: true }]);
  });
});

import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { applyMigrations, MIGRATIONS } from '../../src/database/migrations.ts';
import { newId } from '../../src/ids.ts';
import { maskUrl } from '../../src/secrets/mask-url.ts';
import { findCanaries, newCore } from '../conformance/canaries.ts';
import { urls } from '../secrets/urls.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';

const MIGRATION = /_mask_urls$/;
const SHOWN = [
  'https://api.example.com/weather?key=yours',
  'https://hooks.slack.com/services/T0/B0/abc',
  'https://example.com',
  'https://example.com/in?a=1&b=&c&&d==e#x',
  'https://example.com/in/?',
  'secret',
];

const log = pino({ level: 'silent' });
const cores = { webhook: newCore(), upstream: newCore() };
/** The URL that each audit entry was stored with, by entry ID. */
const generated = new Map<string, string>();
const ids = {
  project: newId('Project'),
  webhook: newId('Webhook'),
  connector: newId('Connector'),
  event: newId('Event'),
};
const deliveries = { webhook: newId('Delivery'), connector: newId('Delivery') };
const webhookUrl = `https://example.com/hooks/tollgate?token=a%2Fb${cores.webhook}&short=xyz`;
const upstreamUrl = `https://api.example.com/weather/"é?key=${cores.upstream}`;
const eventData = `{"endpointId":"ep_1","path":"/w","upstreamUrl":${JSON.stringify(upstreamUrl)},"priceUsd":"0.01","description":"a  \\u0041"}`;

let database: TestDatabase;
let sql: pg.Client;

/** Stores rows the way earlier versions did, before the migration. */
async function fill(): Promise<void> {
  await sql.query(`INSERT INTO "User" ("id", "issuer", "subject") VALUES ('usr_1', 'i', 's')`);
  await sql.query(
    `INSERT INTO "Project" ("id", "userId", "name", "walletAddress") VALUES ($1, 'usr_1', 'Shop', '0x1')`,
    [ids.project],
  );
  await sql.query(
    `INSERT INTO "Webhook" ("id", "projectId", "url", "eventTypes", "secret") VALUES ($1, $2, $3, '{*}', 'sealed')`,
    [ids.webhook, ids.project, webhookUrl],
  );
  await sql.query(
    `INSERT INTO "Connector" ("id", "projectId", "type", "config", "secretConfig", "eventTypes") VALUES ($1, $2, 'slack', '{}', 'sealed', '{*}')`,
    [ids.connector, ids.project],
  );
  await sql.query(
    `INSERT INTO "Event" ("id", "projectId", "type", "data") VALUES ($1, $2, 'endpoint.created', $3::json)`,
    [ids.event, ids.project, eventData],
  );
  await sql.query(
    `INSERT INTO "Delivery" ("id", "projectId", "eventId", "eventType", "webhookId", "connectorId", "reason")
     VALUES ($1, $3, $4, 'endpoint.created', $5, NULL, NULL), ($2, $3, $4, 'endpoint.created', NULL, $6, $7)`,
    [
      ...[deliveries.webhook, deliveries.connector, ids.project, ids.event, ids.webhook, ids.connector],
      `The vendor refuses ${upstreamUrl}.`,
    ],
  );
  const { pathname, search } = new URL(webhookUrl);
  const echoed = [
    webhookUrl,
    pathname + search,
    `a/b${cores.webhook}`,
    `no: ${JSON.stringify(webhookUrl).replaceAll('/', '\\/')}`,
  ];
  const headers = JSON.stringify({ location: pathname + search, 'x-echo': `"a/b${cores.webhook}"` });
  await attempt(1, deliveries.webhook, webhookUrl, `${echoed.join(' ')} ${eventData}`, headers);
  // An attempt from before requests were stored.
  await attempt(2, deliveries.webhook, null, webhookUrl, null);
  await attempt(1, deliveries.connector, 'https://hooks.example.com/services/•/B0?wait=true', eventData, '{"a":"b"}');
  for (const url of [...SHOWN, ...fc.sample(urls, { numRuns: 2_000, seed: 7 })]) {
    const id = newId('AuditEntry');
    generated.set(id, url);
  }
  await sql.query(
    `INSERT INTO "AuditEntry" ("id", "userId", "projectId", "actorKind", "actorId", "actorName", "action", "targetId", "changes")
     SELECT id, 'usr_1', $3, 'USER', 'usr_1', 's', CASE WHEN n % 2 = 0 THEN 'endpoint.updated' ELSE 'webhook.created' END, 'x',
            jsonb_build_object(CASE WHEN n % 2 = 0 THEN 'upstreamUrl' ELSE 'url' END, url, 'description', 'https://example.com/?kept=yes')
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS t(id, url, n)`,
    [[...generated.keys()], [...generated.values()], ids.project],
  );
}

async function attempt(number: number, deliveryId: string, url: string | null, body: string, headers: string | null) {
  await sql.query(
    `INSERT INTO "Attempt" ("id", "deliveryId", "number", "trigger", "startedAt", "durationMs", "requestUrl", "responseBody", "responseHeaders")
     VALUES ($1, $2, $3, 'SCHEDULED', now(), 1, $4, $5, $6::json)`,
    [newId('Attempt'), deliveryId, number, url, body, headers],
  );
}

beforeAll(async () => {
  database = await createEmptyDatabase();
  sql = new pg.Client({ connectionString: database.url });
  await sql.connect();
  const before = await mkdtemp(join(tmpdir(), 'tollgate-mask-urls-'));
  const names = (await readdir(MIGRATIONS)).filter((name) => /^\d{14}_/.test(name)).sort();
  const mine = names.findIndex((name) => MIGRATION.test(name));
  for (const name of names.slice(0, mine)) await cp(join(MIGRATIONS, name), join(before, name), { recursive: true });
  await applyMigrations(database.url, before, log);
  await fill();
  await applyMigrations(database.url, MIGRATIONS, log);
  await rm(before, { recursive: true });
});
afterAll(async () => {
  await sql?.end();
  await database?.drop();
});

test('the upgrade masks every URL in the audit log as the service does, and changes nothing else', async () => {
  const { rows } = await sql.query<{ id: string; url: string; description: string }>(
    `SELECT "id", coalesce("changes" ->> 'url', "changes" ->> 'upstreamUrl') AS url, "changes" ->> 'description' AS description FROM "AuditEntry"`,
  );
  expect(rows).toHaveLength(generated.size);
  const different = rows
    .map(({ id, url }) => ({ given: generated.get(id)!, inSql: url, inTypeScript: maskUrl(generated.get(id)!) }))
    .filter(({ inSql, inTypeScript }) => inSql !== inTypeScript);
  expect(different).toEqual([]);
  expect(new Set(rows.map(({ description }) => description))).toEqual(new Set(['https://example.com/?kept=yes']));
  const masked = [...generated.values()].filter((url) => maskUrl(url) !== url && maskUrl(url) !== '••••');
  expect(masked.length).toBeGreaterThan(300);
});

test('the upgrade masks URLs in events and leaves the other bytes of their data unchanged', async () => {
  const { rows } = await sql.query('SELECT "data"::text AS data FROM "Event"');
  expect(rows).toEqual([
    { data: eventData.replace(JSON.stringify(upstreamUrl), JSON.stringify(maskUrl(upstreamUrl))) },
  ]);
});

test('the upgrade masks the URLs of attempts, including where responses repeat them', async () => {
  const { rows } = await sql.query('SELECT * FROM "Attempt" ORDER BY "deliveryId", "number"');
  const texts = [...rows, ...(await sql.query('SELECT * FROM "Delivery"')).rows].map((row) => ({
    where: row.id,
    text: JSON.stringify(row),
  }));
  expect(
    findCanaries(
      Object.entries(cores).map(([name, core]) => ({ name, core })),
      texts,
    ),
  ).toEqual([]);
  const of = (id: string) => rows.filter(({ deliveryId }) => deliveryId === id);
  expect(of(deliveries.webhook).map(({ requestUrl }) => requestUrl)).toEqual([
    'https://example.com/hooks/••••?token=••••&short=••••',
    null,
  ]);
  expect(of(deliveries.webhook)[0].responseHeaders).toEqual({ location: '••••', 'x-echo': '"••••"' });
  expect(of(deliveries.connector)[0]).toMatchObject({
    requestUrl: 'https://hooks.example.com/services/•/B0?wait=true',
    responseHeaders: { a: 'b' },
  });
  expect(of(deliveries.connector)[0].responseBody).toContain('"path":"/w"');
});

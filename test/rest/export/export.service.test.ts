import { parse } from 'csv-parse/sync';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { insertPayment } from '../../support/payments.ts';
import { createEndpoint, createKey, createProject, createWebhook } from '../../support/resources.ts';
import { download, linesOf } from './download.ts';

/** For each export: its path, where REST returns the same rows, and the query that returns all of them in order. */
const EXPORTS = [
  { name: 'payments', rows: 'data' },
  { name: 'customers', rows: 'data', order: '&orderBy=CREATED' },
  { name: 'revenue', rows: 'buckets' },
  { name: 'deliveries', rows: 'data' },
  { name: 'events', rows: 'data' },
  { name: 'audit-log', rows: 'data' },
] as const;

let app: TestApp;
let sql: pg.Pool;
let alice: TestUser;
let base: string;
let projectId: string;
let endpointId: string;

beforeAll(async () => {
  // Without a worker, nothing changes on its own.
  app = await startTestApp({ env: { ROLES: 'api' } });
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 2 });
});
afterAll(async () => {
  await sql?.end();
  await app?.stop();
});

let users = 0;
/** A project with at least three rows in each list. */
beforeEach(async () => {
  users += 1;
  alice = await app.user(`alice-${users}`, 'ENTERPRISE');
  ({ base, id: projectId } = await createProject(alice));
  await createWebhook(alice, base);
  for (const description of ['=HYPERLINK("https://example.com")', "'+1", 'a "quoted", text']) {
    ({ id: endpointId } = await createEndpoint(alice, base, { description }));
    await insertPayment(sql, { projectId, endpointId: newId('Endpoint'), mark: '-2+3' });
  }
});

/** All rows as REST lists them, oldest first. */
async function listed({ name, rows, ...rest }: (typeof EXPORTS)[number], query = ''): Promise<object[]> {
  const order = 'order' in rest ? rest.order : '';
  const path = `${base}/${name}?${rows === 'data' ? `limit=100${order}` : ''}${query}`;
  const { body } = await alice.rest<Record<string, object[]>>('GET', path);
  return rows === 'data' ? body[rows]!.toReversed() : body[rows]!;
}

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
/** The names of fields that contain times. */
const isTimeField = (name: string) => /(At|start|timestamp|validBefore)$/.test(name);
const columnOf = (name: string) => (isTimeField(name) ? `${name} (UTC)` : name);

/** Returns a row of an API response as it looks in CSV, without the apostrophes that escape formulas. */
const inCsv = (row: object) =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      if (value === null) return [columnOf(name), ''];
      if (isTimeField(name)) {
        expect(value).toMatch(TIME);
        return [columnOf(name), value.replace('T', ' ').replace(/\.\d+Z$/, '')];
      }
      return [name, typeof value === 'object' ? JSON.stringify(value) : String(value)];
    }),
  );
const withFormulas = (row: Record<string, string>) =>
  Object.fromEntries(Object.entries(row).map(([column, text]) => [column, text.replace(/^'('*[=+\-@])/, '$1')]));

describe.each(EXPORTS)('$name', (exported) => {
  const { name } = exported;

  test('every line in JSON Lines is the item that REST returns, oldest first', async () => {
    const file = await download(app, alice, `${base}/${name}/export?format=jsonl`);
    expect(file.status, file.text).toBe(200);
    const expected = await listed(exported);
    expect(expected.length).toBeGreaterThan(2);
    expect(file.text).toBe(expected.map((item) => `${JSON.stringify(item)}\n`).join(''));
  });

  test('a CSV parser reads the same values from CSV, except for times, under the names of the fields', async () => {
    const file = await download(app, alice, `${base}/${name}/export`);
    const rows = parse<Record<string, string>>(file.text, { columns: true });
    const expected = await listed(exported);
    expect(rows.map(withFormulas)).toEqual(expected.map(inCsv));
    expect(Object.keys(rows[0]!)).toEqual(Object.keys(expected[0]!).map(columnOf));
    expect(file.text.endsWith('\r\n')).toBe(true);
  });

  test('the response is a file of unknown length with a name', async () => {
    for (const [format, type] of [
      ['csv', 'text/csv; charset=utf-8; header=present'],
      ['jsonl', 'application/jsonl; charset=utf-8'],
    ]) {
      const { headers } = await download(app, alice, `${base}/${name}/export?format=${format}`);
      expect(headers.get('content-type')).toBe(type);
      expect(headers.get('content-disposition')).toMatch(
        new RegExp(`^attachment; filename="${name}-\\d{8}T\\d{6}Z\\.${format}"$`),
      );
      expect(headers.has('content-length')).toBe(false);
      expect(headers.get('x-request-id')).toBeTruthy();
      expect(headers.get('cache-control')).toBe('no-store');
    }
  });

  test('an API key of the project can export, and everyone else gets the response for a missing project', async () => {
    const { key } = await createKey(alice, base);
    expect((await download(app, app.caller(key), `${base}/${name}/export`)).status).toBe(200);
    const other = await createProject(alice);
    const { key: otherKey } = await createKey(alice, other.base);
    const strangers = [await app.user(`mallory-${users}`), app.caller(otherKey)];
    for (const stranger of strangers) {
      const refused = await download(app, stranger, `${base}/${name}/export`);
      expect({ status: refused.status, code: JSON.parse(refused.text).code }).toEqual({
        status: 404,
        code: 'NOT_FOUND',
      });
    }
    const missing = await download(app, alice, `/api/projects/${newId('Project')}/${name}/export`);
    expect(missing.status).toBe(404);
  });

  test('a parameter that the list doesn’t have is rejected, so a misspelled filter doesn’t export everything', async () => {
    const otherId = newId(name === 'payments' ? 'Customer' : 'Payment');
    const wrong = ['after=x', `after=${otherId}`, 'after=', `after=${otherId}&after=${otherId}`];
    for (const query of ['form=2026-01-01T00:00:00Z', 'limit=5', ...wrong, 'format=xml', 'format=csv&format=jsonl']) {
      const { status, text } = await download(app, alice, `${base}/${name}/export?${query}`);
      expect({ query, status }).toEqual({ query, status: 422 });
      expect(JSON.parse(text).errors[0].pointer).toBe(`/${query.split('=')[0]}`);
    }
  });
});

const RESUMABLE = EXPORTS.filter(({ name }) => name !== 'revenue');

test.each(RESUMABLE)(
  'an export of $name continues after any row, with exactly the rows that follow',
  async ({ name }) => {
    // The order must not depend on times, which can be equal, or change when a customer pays.
    await sql.query('UPDATE "Payment" SET "createdAt" = now() WHERE "projectId" = $1', [projectId]);
    await sql.query('UPDATE "Customer" SET "lastPaymentAt" = now(), "firstPaymentAt" = now() WHERE "projectId" = $1', [
      projectId,
    ]);
    const path = `${base}/${name}/export`;
    const lines = (await download(app, alice, `${path}?format=jsonl`)).text.split(/(?<=\n)/);
    const csv = (await download(app, alice, path)).text;
    expect(lines.length).toBeGreaterThan(2);
    let rest = '';
    for (const [index, line] of lines.entries()) {
      const { id } = JSON.parse(line) as { id: string };
      const { status, text } = await download(app, alice, `${path}?format=jsonl&after=${id}`);
      expect({ status, text }).toEqual({ status: 200, text: lines.slice(index + 1).join('') });
      const { headers, text: rows } = await download(app, alice, `${path}?after=${id}`);
      expect(headers.get('content-type')).toBe('text/csv; charset=utf-8; header=absent');
      if (index === 0) rest = rows;
      expect(rest.endsWith(rows)).toBe(true);
    }
    expect(rest).toBe(csv.slice(csv.indexOf(rest)));
    expect(csv.indexOf(rest)).toBeGreaterThan(0);
  },
);

describe.each(RESUMABLE)('$name without rows', ({ name }) => {
  test('CSV has only the header, and JSON Lines is empty', async () => {
    // Nothing matches: the IDs don't belong to anything, or the event type never occurs.
    const nothing = {
      payments: `endpointId=${newId('Endpoint')}`,
      customers: 'walletAddress=0x1F98431c8aD98523631AE4a59f267346ea31F984',
      deliveries: 'status=RUNNING',
      events: 'eventType=payment.failed',
      'audit-log': `targetId=${newId('Webhook')}`,
    }[name as 'payments'];
    const csv = await download(app, alice, `${base}/${name}/export?${nothing}`);
    expect(csv.text).toMatch(/^id,projectId,[\w,() ]+\r\n$/);
    const jsonl = await download(app, alice, `${base}/${name}/export?format=jsonl&${nothing}`);
    expect({ status: jsonl.status, text: jsonl.text }).toEqual({ status: 200, text: '' });
  });
});

test.each([
  ['payments', 'endpointId=ENDPOINT'],
  ['payments', 'status=SETTLED,FAILED&from=2026-01-01T00:00:00Z&to=2100-01-01T00:00:00Z'],
  ['deliveries', 'eventType=endpoint.created&status=PENDING'],
  ['events', 'eventType=endpoint.created&eventType=endpoint.pricing_changed'],
  ['audit-log', 'action=endpoint.created'],
  ['revenue', 'interval=HOUR&from=2026-01-01T00:00:00Z&to=2026-01-03T00:00:00Z'],
] as const)('an export of %s has the filters of the list: %s', async (name, template) => {
  const query = template.replace('ENDPOINT', endpointId);
  const exported = EXPORTS.find((candidate) => candidate.name === name)!;
  const lines = linesOf(await download(app, alice, `${base}/${name}/export?format=jsonl&${query}`));
  expect(lines).toEqual(await listed(exported, `&${query}`));
});

test('an invalid filter gets the same error as for the list', async () => {
  const path = (suffix: string) => `${base}/payments${suffix}?payer=nobody`;
  const refused = JSON.parse((await download(app, alice, path('/export'))).text);
  const { body } = await alice.rest<{ errors: unknown }>('GET', path(''));
  expect(refused).toMatchObject({ status: 422, code: 'VALIDATION_FAILED', errors: body.errors });
});

test('the masked secrets of the audit log stay masked', async () => {
  const secret = 'https://user:hunter2@hooks.example.com/private-token';
  await createWebhook(alice, base, { url: 'https://hooks.example.com/x?token=private-token' });
  expect((await alice.rest('POST', `${base}/webhooks`, { url: secret, eventTypes: ['*'] })).status).toBeLessThan(500);
  for (const format of ['csv', 'jsonl']) {
    const { text } = await download(app, alice, `${base}/audit-log/export?format=${format}`);
    expect(text).toContain('webhook.created');
    expect(text).not.toMatch(/private-token|hunter2/);
  }
});

test('customers keep their position in an export, even if they pay during it', async () => {
  const before = linesOf(await download(app, alice, `${base}/customers/export?format=jsonl`));
  await sql.query('UPDATE "Customer" SET "lastPaymentAt" = now(), "totalAtomic" = 99000000 WHERE id = $1', [
    before[0]!.id,
  ]);
  const after = linesOf(await download(app, alice, `${base}/customers/export?format=jsonl`));
  expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  expect(after[0]).toMatchObject({ totalUsd: '99' });
});

test('HEAD returns the headers without exporting anything', async () => {
  const headers = { authorization: `Bearer ${alice.token}` };
  const response = await fetch(`${app.url}${base}/events/export`, { method: 'HEAD', headers });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-disposition')).toContain('.csv"');
  expect(await response.text()).toBe('');
});

test('an export counts as ten requests', async () => {
  const user = await app.user(`counted-${users}`, 'STARTER');
  const { base: own } = await createProject(user);
  const left = ({ headers }: { headers: Headers }) => Number(/r=(\d+)/.exec(headers.get('ratelimit')!)![1]);
  const before = left(await user.rest('GET', own));
  const after = left(await download(app, user, `${own}/events/export`));
  expect(before - after).toBe(10);
  for (let count = 0; count < 4; count++) await download(app, user, `${own}/events/export`);
  const refused = await download(app, user, `${own}/events/export`);
  expect(refused.status).toBe(429);
  expect(JSON.parse(refused.text).code).toBe('RATE_LIMITED');
});

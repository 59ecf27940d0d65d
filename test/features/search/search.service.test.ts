import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { join, person } from '../../support/members.ts';
import { insertPayment } from '../../support/payments.ts';
import { createConnector, createEndpoint, createKey, createProject, createWebhook } from '../../support/resources.ts';
import { waitingStatements } from '../../support/waiting-statements.ts';

const HASH = `0x${'ab'.repeat(32)}`;
const SECRET_PART = 'T0SECRETPART';

type Found = { type: string; id: string; projectId: string; label: string; status: string | null };

let app: TestApp;
let sql: pg.Pool;
let alice: TestUser;
let bob: TestUser;
let key: TestUser;
let projectId: string;
let otherId: string;
const ids: Record<string, string> = {};
let wallet: string;

beforeAll(async () => {
  // With fewer connections, the requests that wait for a lock would use more than half of them.
  app = await startTestApp({ env: { ROLES: 'api', DATABASE_POOL_SIZE: '20' } });
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 2 });
  alice = await app.user('alice', 'ENTERPRISE');
  bob = await app.user('bob', 'ENTERPRISE');
  const project = await createProject(alice, { name: 'Weather shop' });
  const other = await createProject(alice, { name: 'Tide shop' });
  [projectId, otherId] = [project.id, other.id];
  const made = await createKey(alice, project.base, { name: 'Deploy robot' });
  key = app.caller(made.key);
  Object.assign(ids, { ApiKey: made.id, last4: made.last4 as string });
  ids.Webhook = (
    await createWebhook(alice, project.base, {
      url: `https://hooks.Weather.example:8443/in/${SECRET_PART}?token=${SECRET_PART}`,
      name: 'Ledger sync',
    })
  ).id;
  ids.Connector = (
    await createConnector(alice, project.base, {
      type: 'slack',
      config: { webhookUrl: `https://hooks.slack.com/services/T00000000/B00000000/abcdefghijklmnopqrstuvwx` },
    })
  ).id;
  ids.Supabase = (
    await createConnector(alice, project.base, {
      type: 'supabase',
      name: 'Warehouse',
      config: { url: 'https://abcdefghijklmnopqrst.supabase.co', apiKey: 'sb_secret_1234567890' },
    })
  ).id;
  ids.Endpoint = (await createEndpoint(alice, project.base, { path: '/forecast/v1/:city' })).id;
  ids.OtherEndpoint = (await createEndpoint(alice, other.base, { path: '/forecast/tides' })).id;
  const { rows: deliveries } = await sql.query('SELECT id, "eventId" FROM "Delivery" WHERE "webhookId" = $1', [
    ids.Webhook,
  ]);
  Object.assign(ids, { Delivery: deliveries[0].id, Event: deliveries[0].eventId });
  const { paymentId, customerId } = await insertPayment(sql, { projectId, endpointId: ids.Endpoint, mark: 'paid' });
  Object.assign(ids, { Payment: paymentId, Customer: customerId });
  await sql.query(`UPDATE "Payment" SET "transactionHash" = $2, "paymentIdentifier" = 'order-77' WHERE id = $1`, [
    paymentId,
    HASH,
  ]);
  const { rows } = await sql.query('SELECT "walletAddress" FROM "Customer" WHERE id = $1', [customerId]);
  wallet = rows[0].walletAddress;
});

afterAll(async () => {
  await sql?.end();
  await app?.stop();
});

async function search(who: TestUser, q: string, inProject: string | null = projectId): Promise<Found[]> {
  const path = inProject ? `/api/projects/${inProject}/search` : '/api/search';
  const { status, body } = await who.rest<{ data: Found[] }>('GET', `${path}?q=${encodeURIComponent(q)}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data;
}

const typesOf = (found: Found[]) => found.map(({ type, id }) => `${type} ${id}`);

describe('search', () => {
  test.each(['Payment', 'Customer', 'Endpoint', 'Webhook', 'Connector', 'Delivery', 'Event', 'ApiKey'])(
    'finds a %s by its ID',
    async (type) => {
      expect(typesOf(await search(alice, ` ${ids[type]} `))).toEqual([`${type} ${ids[type]}`]);
      expect(typesOf(await search(key, ids[type]!, null))).toEqual([`${type} ${ids[type]}`]);
    },
  );

  test('finds a payment by its transaction hash, regardless of case', async () => {
    for (const text of [HASH, HASH.toUpperCase().replace('0X', '0x')]) {
      const [found, ...others] = await search(alice, text);
      expect(found).toEqual({
        type: 'Payment',
        id: ids.Payment,
        projectId,
        label: '$0.01 GET /paid',
        status: 'SETTLED',
      });
      expect(others).toEqual([]);
    }
  });

  test('finds a customer and their payments by wallet, regardless of case', async () => {
    for (const text of [wallet, wallet.toLowerCase()]) {
      expect(typesOf(await search(alice, text))).toEqual([`Payment ${ids.Payment}`, `Customer ${ids.Customer}`]);
    }
  });

  test.each([
    ['a payment by its identifier', 'order-77', 'Payment'],
    ['an endpoint by part of its path', 'ORECAST/V1', 'Endpoint'],
    ['a webhook by part of its host', 'hooks.weather', 'Webhook'],
    ['a webhook by its port', ':8443', 'Webhook'],
    ['a webhook by part of its name', 'DGER SY', 'Webhook'],
    ['a connector by its name', 'warehouse', 'Supabase'],
    ['a connector by its type', 'Slack', 'Connector'],
    ['a connector by the host of its URL', 'qrst.supabase.co', 'Supabase'],
    ['an API key by part of its name', 'robot', 'ApiKey'],
    ['API keys by their prefix', 'tg_test_', 'ApiKey'],
  ])('finds %s', async (_what, text, type) => {
    expect(typesOf(await search(alice, text))).toEqual([`${type === 'Supabase' ? 'Connector' : type} ${ids[type]}`]);
  });

  test('shows webhooks and connectors by name or, without a name, by host or service', async () => {
    const labelOf = async (text: string) => (await search(alice, text)).map(({ label }) => label);
    expect(await labelOf(ids.Webhook!)).toEqual(['Ledger sync']);
    expect(await labelOf('supabase.co')).toEqual(['Warehouse']);
    expect(await labelOf('slack')).toEqual(['Slack']);
  });

  test('finds an API key by its last four characters, in exactly their case', async () => {
    expect(typesOf(await search(alice, ids.last4!))).toContain(`ApiKey ${ids.ApiKey}`);
  });

  test('covers all of the viewer’s projects if none is given, and finds projects by their names', async () => {
    const everywhere = typesOf(await search(alice, 'forecast', null));
    expect(everywhere.toSorted()).toEqual([`Endpoint ${ids.Endpoint}`, `Endpoint ${ids.OtherEndpoint}`].toSorted());
    expect(typesOf(await search(alice, 'tide shop', null))).toEqual([`Project ${otherId}`]);
    expect(typesOf(await search(key, 'forecast', null))).toEqual([`Endpoint ${ids.Endpoint}`]);
  });

  test('finds at most ten items of each type, newest first', async () => {
    const { base, id } = await createProject(alice);
    const created: string[] = [];
    for (let index = 0; index < 12; index++) {
      created.push((await createEndpoint(alice, base, { path: `/many/${index}` })).id);
    }
    const found = await search(alice, '/many', id);
    expect(found.map((item) => item.id)).toEqual(created.toReversed().slice(0, 10));
  });

  test('treats wildcards as text', async () => {
    expect(await search(alice, 'fore%st')).toEqual([]);
    expect(await search(alice, 'f_recast')).toEqual([]);
  });

  test('finds nothing by masked parts of URLs and configs', async () => {
    for (const text of [SECRET_PART, 'token=', 'T00000000', 'T00000000/', '/services', '/in/']) {
      expect(typesOf(await search(alice, text)), text).toEqual([]);
    }
  });

  test('does not find revoked API keys', async () => {
    const { base, id } = await createProject(alice);
    const made = await createKey(alice, base, { name: 'Old robot' });
    await alice.rest('DELETE', `${base}/keys/${made.id}`);
    expect(await search(alice, 'Old robot', id)).toEqual([]);
    expect(await search(alice, made.id, id)).toEqual([]);
  });
});

describe('does not find other users’ items', () => {
  test.each([
    ...['Payment', 'Customer', 'Endpoint', 'Webhook', 'Connector', 'Delivery', 'Event', 'ApiKey'].map((type) => [
      `the ID of a ${type}`,
      () => ids[type]!,
    ]),
    ['a transaction hash', () => HASH],
    ['a wallet', () => wallet],
    ['a payment identifier', () => 'order-77'],
    ['part of a path', () => 'forecast'],
    ['part of a host', () => 'hooks.weather'],
    ['the name of a project', () => 'Weather shop'],
  ] as [string, () => string][])('%s', async (_what, textOf) => {
    const own = await createProject(bob);
    expect(await search(bob, textOf(), own.id)).toEqual([]);
    expect(await search(bob, textOf(), null)).toEqual([]);
  });

  test('a project of someone else is not found, and neither is one that does not exist', async () => {
    const responses = await Promise.all(
      [projectId, newId('Project')].map((id) =>
        bob.rest<Record<string, unknown>>('GET', `/api/projects/${id}/search?q=forecast`),
      ),
    );
    for (const { status, body } of responses) expect([status, body.code]).toEqual([404, 'NOT_FOUND']);
  });
});

test.each([
  ['', 'Must be at least 2 characters.'],
  [' a ', 'Must be at least 2 characters.'],
  ['a'.repeat(201), 'Must be at most 200 characters.'],
  ['a\0b', 'Must not contain NUL characters.'],
  ['%%', 'Must contain a letter or a digit.'],
  ['***', 'Must contain a letter or a digit.'],
  [`tg_live_${'a'.repeat(50)}`, 'This looks like a secret. Search by its name or last four characters instead.'],
  [`whsec_${'a'.repeat(40)}`, 'This looks like a secret. Search by its name or last four characters instead.'],
])('a search for %j is rejected', async (text, message) => {
  const { status, body } = await alice.rest<{ errors: unknown }>('GET', `/api/search?q=${encodeURIComponent(text)}`);
  expect({ status, errors: body.errors }).toEqual({ status: 422, errors: [{ pointer: '/q', message }] });
});

test('a search without text is rejected', async () => {
  const { status, body } = await alice.rest<{ errors: unknown }>('GET', '/api/search');
  expect({ status, errors: body.errors }).toEqual({
    status: 422,
    errors: [{ pointer: '/q', message: 'Required.' }],
  });
});

test('a document can’t have many searches, because each looks through many names', async () => {
  const searches = (count: number) =>
    `{ ${Array.from({ length: count }, (_, index) => `s${index}: search(query: "x${index}") { itemId }`).join(' ')} }`;
  expect((await alice.graphql(searches(3))).errors).toBeUndefined();
  expect((await alice.graphql(searches(5))).errors).toMatchObject([{ extensions: { code: 'GRAPHQL_TOO_COMPLEX' } }]);
});

test('at most two searches by name run at the same time, one of each account, and other requests don’t wait for them', async () => {
  const people = [bob, await app.user('carol', 'ENTERPRISE'), await app.user('dora', 'ENTERPRISE')];
  const projects = new Map<TestUser, string>();
  for (const user of [alice, ...people]) projects.set(user, (await createProject(user)).base);
  const search = (user: TestUser) => user.rest('GET', `${projects.get(user)}/search?q=weather`);

  const lock = await sql.connect();
  await lock.query('BEGIN; LOCK TABLE "Connector" IN ACCESS EXCLUSIVE MODE');
  const searches = [alice, alice, alice].map(search);
  await expect.poll(() => waitingStatements(sql)).toBeGreaterThanOrEqual(1);
  const lists = people.map((user) => user.rest('GET', `${projects.get(user)}/connectors`));
  await expect.poll(() => waitingStatements(sql)).toBeGreaterThanOrEqual(1 + lists.length);
  const ofOneAccount = await waitingStatements(sql);
  searches.push(...people.map(search));
  await expect.poll(() => waitingStatements(sql)).toBeGreaterThanOrEqual(2 + lists.length);
  lists.push(alice.rest('GET', `${projects.get(alice)}/connectors`));
  await expect.poll(() => waitingStatements(sql)).toBeGreaterThanOrEqual(2 + lists.length);
  const ofAll = await waitingStatements(sql);
  await lock.query('COMMIT');
  lock.release();

  expect(ofOneAccount).toBe(1 + 3);
  expect(ofAll).toBe(2 + 4);
  for (const { status } of await Promise.all([...searches, ...lists])) expect(status).toBe(200);
});

test('searches don’t wait for those of accounts whose other statements are slow', async () => {
  const carol = await app.user('carol', 'ENTERPRISE');
  const { base } = await createProject(carol);
  await createEndpoint(carol, base, { path: '/unhindered' });
  const slow = [];
  for (const user of [alice, bob]) slow.push({ user, own: (await createProject(user)).base });

  // Searches don't read this table.
  const lock = await sql.connect();
  await lock.query('BEGIN; LOCK TABLE "Replay" IN ACCESS EXCLUSIVE MODE');
  // All connections that the two accounts may use.
  const lists = slow.flatMap(({ user, own }) => Array.from({ length: 5 }, () => user.rest('GET', `${own}/replays`)));
  await expect.poll(() => waitingStatements(sql)).toBe(lists.length);
  const behind = slow.map(({ user, own }) => user.rest('GET', `${own}/search?q=unhindered`));
  const found = [];
  for (let count = 0; count < 3; count++) found.push(await carol.rest('GET', `${base}/search?q=unhindered`));
  const slowStatements = await waitingStatements(sql);
  await lock.query('COMMIT');
  lock.release();

  expect(slowStatements, 'slow statements that didn’t end before the searches').toBe(lists.length);
  expect(found.map(({ status }) => status)).toEqual([200, 200, 200]);
  for (const { status } of await Promise.all([...lists, ...behind])) expect(status).toBe(200);
});

test('a search that was still waiting when its caller was removed from a project finds nothing in it', async () => {
  const { base } = await createProject(alice);
  await createEndpoint(alice, base, { path: '/removal' });
  const eve = await person(app, 'eve');
  const { id } = await join(alice, base, eve, 'VIEWER');
  const search = () => eve.rest<{ data: Found[] }>('GET', '/api/search?q=removal');

  const lock = await sql.connect();
  await lock.query('BEGIN; LOCK TABLE "Connector" IN ACCESS EXCLUSIVE MODE');
  const searches = [search()];
  await expect.poll(() => waitingStatements(sql)).toBe(1);
  searches.push(search());
  // It starts after the second search, which waits for its turn, but not for a lock.
  const list = eve.rest('GET', `${base}/connectors`);
  await expect.poll(() => waitingStatements(sql)).toBe(2);
  expect((await alice.rest('DELETE', `${base}/members/${id}`)).status).toBe(204);
  await lock.query('COMMIT');
  lock.release();

  await list;
  const [, waited] = await Promise.all(searches);
  expect(waited).toMatchObject({ status: 200, body: { data: [] } });
});

import { connect } from 'node:net';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newApiKey } from '../../../src/auth/api-keys.ts';
import { ROUTES } from '../../../src/rest/routes.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import {
  createConnector,
  createEndpoint,
  createKey,
  createProject,
  createWebhook,
  EVERY_SCOPE,
  GOOD,
  type Resource,
} from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';

let app: TestApp;
let rest: Rest;
let pool: pg.Pool;
let alice: TestUser;
let base: string;
let projectId: string;

beforeAll(async () => {
  app = await startTestApp();
  rest = await openRest(app);
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});
beforeEach(async () => {
  ({ base, id: projectId } = await createProject(alice));
});

type Page = { data: Resource[] };
const as = (key: { key: string }): TestUser => app.caller(key.key);

/** Returns all stored rows as text. */
async function dump(): Promise<string> {
  const tables = [
    'Project',
    'Endpoint',
    'ApiKey',
    'Webhook',
    'Connector',
    'Event',
    'Delivery',
    'IdempotencyKey',
    'User',
  ];
  const rows = await Promise.all(tables.map((table) => pool.query(`SELECT t::text AS row FROM "${table}" t`)));
  return rows.flatMap(({ rows: found }) => found.map(({ row }) => row)).join('\n');
}

describe("a key's value", () => {
  test('is shown once, when the key is created', async () => {
    const { key, ...shown } = await createKey(alice, base);
    expect(key).toMatch(/^tg_test_[0-9A-Za-z]{49}$/);
    expect(shown).toMatchObject({ prefix: 'tg_test_', last4: key.slice(-4) });
    const one = await rest.send(alice, 'GET', `${base}/keys/${shown.id}`);
    const list = await rest.send<Page>(alice, 'GET', `${base}/keys`);
    expect([one.body, list.body.data[0]]).toEqual([shown, shown]);
    const { data } = await alice.graphql(
      `{ project(id: "${projectId}") { apiKeys { nodes { id name last4 prefix } } } }`,
    );
    for (const text of [one.text, list.text, JSON.stringify(data)]) expect(text).not.toContain(key);
  });

  test('is not in the database, and neither is any long part of it', async () => {
    const { key, id } = await createKey(alice, base);
    const stored = await dump();
    expect(stored).toContain(id);
    for (let at = 8; at + 12 <= key.length; at++) expect(stored).not.toContain(key.slice(at, at + 12));
    const { rows } = await pool.query('SELECT "hash" FROM "ApiKey" WHERE "id" = $1', [id]);
    expect(rows[0].hash).toMatch(/^\w+\$[0-9a-f]{64}$/);
  });
});

describe("an API key's environment", () => {
  test.each([
    [{}, 'TEST', 'tg_test_'],
    [{ environment: null }, 'TEST', 'tg_test_'],
    [{ environment: 'TEST' }, 'TEST', 'tg_test_'],
    [{ environment: 'LIVE' }, 'LIVE', 'tg_live_'],
  ])('is set when the key is created: %j, %s', async (fields, environment, prefix) => {
    const key = await createKey(alice, base, fields);
    expect(key).toMatchObject({ environment, prefix });
    expect(key.key.startsWith(prefix)).toBe(true);
    expect((await rest.send(as(key), 'GET', base)).status).toBe(200);
  });

  test('is LIVE by default in a live project', async () => {
    const production = await startTestApp({
      databaseUrl: app.databaseUrl,
      dataDir: app.dataDir,
      env: { NETWORK: 'base' },
    });
    try {
      const user = await production.user('alice', 'ENTERPRISE');
      const { base } = await createProject(user);
      expect(await createKey(user, base)).toMatchObject({ environment: 'LIVE', prefix: 'tg_live_' });
      expect(await createKey(user, base, { environment: 'TEST' })).toMatchObject({ environment: 'TEST' });
    } finally {
      await production.stop();
    }
  });
});

describe("an API key's scopes", () => {
  test('are READ, DELIVERIES, and WRITE by default, in REST and GraphQL', async () => {
    const key = await createKey(alice, base);
    expect(key).toMatchObject({ scopes: ['READ', 'DELIVERIES', 'WRITE'], expiresAt: null });
    const { data } = await as(key).graphql('{ viewer { scopes expiresAt } }');
    expect(data).toEqual({ viewer: { scopes: ['READ', 'DELIVERIES', 'WRITE'], expiresAt: null } });
    expect((await alice.graphql('{ viewer { scopes } }')).data).toEqual({ viewer: { scopes: null } });
  });

  test('are those in the request that creates it, without duplicates', async () => {
    const { scopes } = await createKey(alice, base, { scopes: ['CREDENTIALS', 'READ', 'READ'] });
    expect(scopes).toEqual(['READ', 'CREDENTIALS']);
  });

  test.each([
    [{ scopes: [] }, '/scopes'],
    [{ scopes: ['ADMIN'] }, '/scopes/0'],
    [{ scopes: ['READ', 'MANAGE_KEYS'] }, '/scopes/1'],
    [{ scopes: 'READ' }, '/scopes'],
    [{ expiresAt: '2001-01-01T00:00:00Z' }, '/expiresAt'],
    [{ expiresAt: 'tomorrow' }, '/expiresAt'],
  ])('must be valid, and so must its expiry: %j', async (fields, pointer) => {
    const response = await rest.send(alice, 'POST', `${base}/keys`, { body: { ...GOOD.key, ...fields } });
    expect(response).toMatchObject({ status: 422, body: { code: 'VALIDATION_FAILED', errors: [{ pointer }] } });
  });

  test('take effect with the next request when they change, in all processes', async () => {
    const other = await startTestApp({ databaseUrl: app.databaseUrl, dataDir: app.dataDir });
    try {
      const nodes = [rest, await openRest(other)];
      const key = await createKey(alice, base);
      const rename = (node: Rest) => node.send(as(key), 'PATCH', base, { body: { name: 'Renamed' } });
      for (const node of nodes) expect((await rename(node)).status).toBe(200);
      await pool.query(`UPDATE "ApiKey" SET scopes = '{READ}' WHERE id = $1`, [key.id]);
      for (const node of nodes) {
        const detail = expect.stringContaining('does not have the scope WRITE');
        expect(await rename(node)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN', detail } });
      }
    } finally {
      await other.stop();
    }
  });

  test('protect credentials: without CREDENTIALS, a key can change everything else, and send unchanged values back', async () => {
    const key = as(await createKey(alice, base));
    const full = as(await createKey(alice, base, EVERY_SCOPE));
    const endpoint = await createEndpoint(alice, base);
    const webhook = await createWebhook(alice, base);
    const connector = await createConnector(alice, base);
    const paths = {
      endpoint: `${base}/endpoints/${endpoint.id}`,
      webhook: `${base}/webhooks/${webhook.id}`,
      connector: `${base}/connectors/${connector.id}`,
    };
    const harmless: [string, object][] = [
      [paths.endpoint, { priceUsd: '5', upstreamUrl: endpoint.upstreamUrl }],
      [paths.webhook, { isActive: false, url: webhook.url }],
      [paths.connector, { isActive: false, config: {} }],
    ];
    for (const [path, body] of harmless) {
      expect((await rest.send(key, 'PATCH', path, { body })).status, path).toBe(200);
    }
    const slack = 'https://hooks.slack.com/services/T00000000/B00000000/another';
    const moving: [string, object, string][] = [
      [paths.endpoint, { upstreamUrl: 'https://attacker.example.com' }, '`upstreamUrl`'],
      [paths.endpoint, { upstreamHeaders: [{ name: 'X-Api-Key', value: 'secret' }] }, '`upstreamHeaders`'],
      [paths.webhook, { url: 'https://attacker.example.com' }, '`url`'],
      [paths.webhook, { headers: [{ name: 'X-Api-Key', value: 'secret' }] }, '`headers`'],
      [paths.webhook, { authentication: { type: 'BEARER', token: 'secret' } }, '`authentication`'],
      [paths.connector, { config: { webhookUrl: slack } }, '`config`'],
    ];
    // Deliveries to the endpoints' destinations may fail in the meantime.
    const read = async (path: string) => ({ ...(await alice.rest<object>('GET', path)).body, failingSince: undefined });
    const stored = () => Promise.all(Object.values(paths).map(read));
    const before = await stored();
    for (const [path, body, field] of moving) {
      const refused = await rest.send(key, 'PATCH', path, { body });
      expect(refused, field).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
      expect(refused.body.detail).toContain(field);
      expect(refused.body.detail).toContain('requires the scope CREDENTIALS');
    }
    expect(await stored()).toEqual(before);
    for (const [path, body, field] of moving) {
      expect((await rest.send(full, 'PATCH', path, { body })).status, field).toBe(200);
    }
  });

  test('also apply to each endpoint of an import', async () => {
    const key = as(await createKey(alice, base));
    const documentOn = (url: string) =>
      JSON.stringify({ openapi: '3.1.0', servers: [{ url }], paths: { '/imported': { get: {} } } });
    const importFrom = (url: string) =>
      rest.send<{ results: object[] }>(key, 'POST', `${base}/endpoints/import`, {
        body: { document: documentOn(url), items: [{ path: '/imported', priceUsd: '1' }] },
      });
    expect(JSON.stringify((await importFrom('https://api.example.com/v1')).body)).toContain('"CREATED"');
    const moved = JSON.stringify((await importFrom('https://api.example.com/v2')).body);
    expect(moved).toContain('"FAILED"');
    expect(moved).toContain('requires the scope CREDENTIALS');
  });
});

describe('an API key that expires', () => {
  const inFuture = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString();

  test('works until then, in all processes, and stays in the list until it is revoked', async () => {
    const other = await startTestApp({ databaseUrl: app.databaseUrl, dataDir: app.dataDir });
    try {
      const nodes = [rest, await openRest(other)];
      const expiresAt = inFuture(3_600_000);
      const key = await createKey(alice, base, { expiresAt });
      expect(key).toMatchObject({ expiresAt });
      for (const node of nodes) expect((await node.send(as(key), 'GET', base)).status).toBe(200);
      await pool.query('UPDATE "ApiKey" SET "expiresAt" = now() WHERE id = $1', [key.id]);
      for (const node of nodes) {
        const detail = 'The API key has expired.';
        expect(await node.send(as(key), 'GET', base)).toMatchObject({ status: 401, body: { detail } });
      }
      const { body } = await rest.send<Page>(alice, 'GET', `${base}/keys`);
      expect(body.data).toMatchObject([{ id: key.id, expiresAt: expect.any(String) }]);
      expect((await rest.send(alice, 'DELETE', `${base}/keys/${key.id}`)).status).toBe(204);
    } finally {
      await other.stop();
    }
  });

  test('shows that it has expired only to someone who has it', async () => {
    const key = await createKey(alice, base, { expiresAt: inFuture(3_600_000) });
    await pool.query('UPDATE "ApiKey" SET "expiresAt" = now() WHERE id = $1', [key.id]);
    const guessed = app.caller(newApiKey('TEST'));
    const detail = 'The API key does not exist.';
    expect(await rest.send(guessed, 'GET', base)).toMatchObject({ status: 401, body: { detail } });
  });

  test('has no last use recorded for rejected requests', async () => {
    const key = await createKey(alice, base, { expiresAt: inFuture(3_600_000) });
    await pool.query('UPDATE "ApiKey" SET "expiresAt" = now() WHERE id = $1', [key.id]);
    expect((await rest.send(as(key), 'GET', base)).status).toBe(401);
    expect((await rest.send(alice, 'GET', `${base}/keys/${key.id}`)).body.lastUsedAt).toBeNull();
  });

  test('is in the audit log with its scopes and expiry', async () => {
    const expiresAt = inFuture(3_600_000);
    const { id } = await createKey(alice, base, { scopes: ['READ'], expiresAt });
    const { body } = await rest.send<Page>(alice, 'GET', `${base}/audit-log?targetId=${id}`);
    expect(body.data).toMatchObject([{ action: 'api_key.created', changes: { scopes: ['READ'], expiresAt } }]);
  });
});

describe('revoking an API key', () => {
  test('takes effect with the next request, in all processes', async () => {
    const other = await startTestApp({ databaseUrl: app.databaseUrl, dataDir: app.dataDir });
    try {
      const nodes = [rest, await openRest(other)];
      const key = await createKey(alice, base);
      for (const node of nodes) expect((await node.send(as(key), 'GET', base)).status).toBe(200);
      expect((await rest.send(alice, 'DELETE', `${base}/keys/${key.id}`)).status).toBe(204);
      for (const node of nodes) {
        const refused = await node.send(as(key), 'GET', base);
        expect(refused).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
      }
    } finally {
      await other.stop();
    }
  });

  test.each([
    ['REST', (id: string) => [`/api/projects/${id}/endpoints`, GOOD.endpoint] as const],
    [
      'GraphQL',
      (id: string) =>
        [
          '/graphql',
          {
            query: `mutation ($input: CreateEndpointInput!) { createEndpoint(input: $input) { endpoint { id } } }`,
            variables: { input: { projectId: id, ...GOOD.endpoint } },
          },
        ] as const,
    ],
  ])('also applies to a request whose body arrives afterward, over %s', async (_api, requestTo) => {
    const { id, key } = await createKey(alice, base, { scopes: ['WRITE'] });
    const [path, body] = requestTo(projectId);
    const text = JSON.stringify(body);
    const head = [
      `POST ${path} HTTP/1.1`,
      'Host: localhost',
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
      `Content-Length: ${text.length}`,
      'Connection: close',
    ];
    const { hostname, port } = new URL(app.url);
    const socket = connect(Number(port), hostname);
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    const lastUse = async () => (await alice.rest<Resource>('GET', `${base}/keys/${id}`)).body.lastUsedAt;
    await expect.poll(lastUse).not.toBeNull();
    await alice.rest('DELETE', `${base}/keys/${id}`);
    socket.write(text);
    expect(String(await Array.fromAsync(socket))).toContain(' 401 ');
    expect((await alice.rest<Page>('GET', `${base}/endpoints`)).body.data).toEqual([]);
  });

  test('removes the key from every list, and cannot be done twice or undone', async () => {
    const [kept, revoked] = [await createKey(alice, base), await createKey(alice, base)];
    const path = `${base}/keys/${revoked.id}`;
    await rest.send(alice, 'DELETE', path);
    const { body } = await rest.send<Page>(alice, 'GET', `${base}/keys`);
    expect(body.data.map(({ id }) => id)).toEqual([kept.id]);
    for (const method of ['GET', 'DELETE']) expect((await rest.send(alice, method, path)).status).toBe(404);
    const { data } = await alice.graphql(`{ node(id: "${revoked.id}") { id } }`);
    expect(data).toEqual({ node: null });
    const { rows } = await pool.query('SELECT "revokedAt" FROM "ApiKey" WHERE "id" = $1', [revoked.id]);
    expect(rows[0].revokedAt).toBeInstanceOf(Date);
  });
});

describe('an API key', () => {
  test('lists only its own project', async () => {
    await createProject(alice);
    const key = await createKey(alice, base);
    const { body } = await rest.send<Page>(as(key), 'GET', '/api/projects');
    expect(body).toMatchObject({ data: [{ id: projectId }], nextCursor: null });
  });

  test('cannot access other projects of its owner', async () => {
    const other = await createProject(alice);
    const { id } = await createEndpoint(alice, other.base);
    const key = await createKey(alice, base);
    for (const path of [
      other.base,
      `${other.base}/endpoints`,
      `${other.base}/endpoints/${id}`,
      `${base}/endpoints/${id}`,
    ]) {
      expect((await rest.send(as(key), 'GET', path)).status).toBe(404);
    }
    expect((await rest.send(as(key), 'PATCH', other.base, { body: { name: 'x' } })).status).toBe(404);
  });

  test('can read its owner and its project', async () => {
    const key = await createKey(alice, base);
    const query = '{ viewer { projectId expiresAt tier user { subject } limits { maxConnectors } } }';
    const { data } = await as(key).graphql(query);
    expect(data).toEqual({
      viewer: {
        projectId,
        expiresAt: null,
        tier: 'ENTERPRISE',
        user: { subject: 'alice' },
        limits: { maxConnectors: null },
      },
    });
  });
});

describe('in its project, an API key', () => {
  test('cannot manage projects or API keys, or change the wallet address', async () => {
    const key = await createKey(alice, base);
    const second = await createKey(alice, base);
    const forbidden: [string, string, object?][] = [
      ['POST', '/api/projects', GOOD.project],
      ['DELETE', base],
      ['PATCH', base, { walletAddress: '0x1F98431c8aD98523631AE4a59f267346ea31F984' }],
      ['POST', `${base}/keys`, GOOD.key],
      ['DELETE', `${base}/keys/${second.id}`],
      ['DELETE', `${base}/keys/${key.id}`],
    ];
    for (const [method, path, body] of forbidden) {
      const response = await rest.send(as(key), method, path, { body });
      expect(response, `${method} ${path}`).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    }
    const { body } = await rest.send<Page>(alice, 'GET', `${base}/keys`);
    expect(body.data).toHaveLength(2);
    expect((await rest.send(alice, 'GET', base)).body.walletAddress).toBe(GOOD.project.walletAddress);
  });

  test('has the same restrictions in GraphQL as in REST', async () => {
    const key = await createKey(alice, base);
    const forbidden = [
      `createProject(input: { name: "x", walletAddress: "${GOOD.project.walletAddress}" }) { project { id } }`,
      `deleteProject(input: { id: "${projectId}" }) { projectId }`,
      `updateProject(input: { id: "${projectId}", walletAddress: "0x1F98431c8aD98523631AE4a59f267346ea31F984" }) { project { id } }`,
      `createApiKey(input: { projectId: "${projectId}", name: "x" }) { key }`,
      `revokeApiKey(input: { id: "${key.id}" }) { apiKeyId }`,
    ];
    for (const mutation of forbidden) {
      const { data, errors } = await as(key).graphql(`mutation { ${mutation} }`);
      expect(Object.values(data ?? { none: null })).toEqual([null]);
      expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
    }
  });

  test('can do everything else if it has every scope', async () => {
    const key = await createKey(alice, base, EVERY_SCOPE);
    const user = as(key);
    const endpoint = await createEndpoint(user, base);
    const webhook = await createWebhook(user, base, { eventTypes: ['payment.settled'] });
    const connector = await createConnector(user, base);
    const allowed: [string, string, object?][] = [
      ['GET', base],
      ['PATCH', base, { name: 'Renamed' }],
      ['GET', `${base}/keys`],
      ['PATCH', `${base}/endpoints/${endpoint.id}`, { priceUsd: '5' }],
      ['PATCH', `${base}/webhooks/${webhook.id}`, { isActive: false }],
      ['POST', `${base}/webhooks/${webhook.id}/rotate-secret`],
      ['GET', `${base}/webhooks/${webhook.id}/deliveries`],
      ['PATCH', `${base}/connectors/${connector.id}`, { isActive: false }],
      ['GET', `${base}/deliveries`],
      ['GET', `${base}/events`],
      ['GET', '/api/connector-types'],
      ['DELETE', `${base}/endpoints/${endpoint.id}`],
      ['DELETE', `${base}/webhooks/${webhook.id}`],
      ['DELETE', `${base}/connectors/${connector.id}`],
    ];
    for (const [method, path, body] of allowed) {
      expect((await rest.send(user, method, path, { body })).status, `${method} ${path}`).toBeLessThan(300);
    }
  });

  test('is required: without a credential, every route returns 401', async () => {
    for (const { method, path } of ROUTES) {
      const response = await rest.send(undefined, method, path.replaceAll(/:\w+/g, 'x'));
      expect(response, `${method} ${path}`).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
      expect(response.headers.get('www-authenticate')).toMatch(/^Bearer realm="/);
    }
  });
});

describe("an API key's addresses", () => {
  test('are stored in their only spelling, without duplicates, and are in the audit log', async () => {
    const given = ['10.1.2.3/8', '::ffff:10.0.0.0/104', '2001:DB8::1'];
    const key = await createKey(alice, base, { allowedAddresses: given });
    const stored = ['10.0.0.0/8', '2001:db8::1'];
    expect(key).toMatchObject({ allowedAddresses: stored });
    const { body } = await alice.rest<Page>('GET', `${base}/audit-log?action=api_key.created`);
    expect(body.data[0]).toMatchObject({ changes: { allowedAddresses: stored } });
    expect(await createKey(alice, base)).toMatchObject({ allowedAddresses: [] });
  });

  test.each([
    [['0.0.0.0/0'], '/allowedAddresses/0'],
    [['10.0.0.1', 'example.com'], '/allowedAddresses/1'],
    [[], '/allowedAddresses'],
    [Array.from({ length: 21 }, (_, index) => `10.0.0.${index}`), '/allowedAddresses'],
  ])('cannot be %j', async (allowedAddresses, pointer) => {
    const { status, body } = await alice.rest<{ errors: { pointer: string }[] }>('POST', `${base}/keys`, {
      ...GOOD.key,
      allowedAddresses,
    });
    expect({ status, pointers: body.errors.map((error) => error.pointer) }).toEqual({
      status: 422,
      pointers: [pointer],
    });
  });

  test('are compared with the address of the connection, not with what a client claims', async () => {
    const { key } = await createKey(alice, base, { allowedAddresses: ['198.51.100.7'] });
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'cf-connecting-ip', 'true-client-ip']) {
      const claim = name === 'forwarded' ? 'for=198.51.100.7' : '198.51.100.7';
      const refused = await app.caller(key).rest('GET', base, undefined, { [name]: claim });
      expect(refused).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
      expect(refused.body).toMatchObject({ detail: 'This API key can’t be used from 127.0.0.1.' });
    }
    const local = await createKey(alice, base, { allowedAddresses: ['127.0.0.0/8', '::1'] });
    expect((await as(local).rest('GET', base)).status).toBe(200);
  });
});

test("an API key's last use is recorded", async () => {
  const key = await createKey(alice, base);
  expect(key.lastUsedAt).toBeNull();
  await rest.send(as(key), 'GET', base);
  await expect
    .poll(async () => (await rest.send(alice, 'GET', `${base}/keys/${key.id}`)).body.lastUsedAt)
    .toMatch(/^\d{4}-/);
});

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair } from 'jose';
import pg from 'pg';
import { decodeFunctionData, encodeFunctionResult, type Hex, parseAbi } from 'viem';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Finding } from '../../src/cli/doctor/finding.ts';
import { newId } from '../../src/ids.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { runCli } from '../support/cli.ts';
import { startConnectProxy } from '../support/connect-proxy.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createProject, createWebhook } from '../support/resources.ts';

let database: TestDatabase;
let dataDir: string;
/** An identity provider, a facilitator, and a node in one server, all of them healthy. */
let outside: Receiver;
let jwk: Record<string, unknown>;

type Served = { statusCode?: number; headers?: Record<string, string>; body?: string };
const responses: Record<string, (body?: Buffer) => Served> = {};
const json = (value: unknown) => ({ body: JSON.stringify(value) });
/** A node of Base Sepolia. The properties of its USDC are the results of calls to the contract. */
const TOKEN = parseAbi([
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function decimals() view returns (uint8)',
]);
function node(token: { name?: string; version?: string; decimals?: number } = {}): (body?: Buffer) => Served {
  const properties = { name: 'USDC', version: '2', decimals: 6, ...token };
  return (body) => {
    const { id, method, params } = JSON.parse(String(body)) as { id: number; method: string; params: [{ data: Hex }] };
    if (method === 'eth_chainId') return json({ jsonrpc: '2.0', id, result: '0x14a34' });
    const { functionName } = decodeFunctionData({ abi: TOKEN, data: params[0].data });
    const result = encodeFunctionResult({ abi: TOKEN, functionName, result: properties[functionName] as never });
    return json({ jsonrpc: '2.0', id, result });
  };
}

beforeAll(async () => {
  database = await createTestDatabase();
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-doctor-'));
  jwk = { ...(await exportJWK((await generateKeyPair('ES256')).publicKey)) };
  outside = await startReceiver(({ path, body }) => responses[path]?.(body) ?? { statusCode: 404 });
  responses['/jwks'] = () => json({ keys: [jwk] });
  responses['/.well-known/openid-configuration'] = () => json({ issuer: outside.url, jwks_uri: `${outside.url}/jwks` });
  const kinds = [
    { x402Version: 2, scheme: 'exact', network: 'eip155:84532' },
    { x402Version: 1, scheme: 'exact', network: 'base-sepolia' },
  ];
  responses['/supported'] = () => json({ kinds });
  responses['/verify'] = () => ({ statusCode: 400, body: '{}' });
  responses['/settle'] = () => ({ statusCode: 400, body: '{}' });
  responses['/rpc'] = node();
});
afterAll(async () => {
  await outside.close();
  await database.drop();
  await rm(dataDir, { recursive: true });
});

function environment(changes: Record<string, string> = {}): Record<string, string> {
  const issuer = { issuer: outside.url, jwksUri: `${outside.url}/jwks`, audience: 'tollgate' };
  return {
    NODE_ENV: 'test',
    DATA_DIR: dataDir,
    DATABASE_URL: database.url,
    DATABASE_POOL_SIZE: '5',
    EGRESS_ALLOW: `127.0.0.1/32:${outside.port}`,
    AUTH_ISSUERS: JSON.stringify([issuer]),
    FACILITATOR_URL: outside.url,
    RPC_URL: `${outside.url}/rpc`,
    ...changes,
  };
}

function nodeWithoutToken(body?: Buffer): Served {
  const { id, method } = JSON.parse(String(body)) as { id: number; method: string };
  return json({ jsonrpc: '2.0', id, result: method === 'eth_chainId' ? '0x14a34' : '0x' });
}

async function examine(changes: Record<string, string> = {}) {
  const { code, stdout, stderr } = await runCli(['doctor', '--json'], environment(changes));
  expect(stderr).toBe('');
  const findings = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Finding);
  return { code, findings, troubles: findings.filter(({ status }) => status !== 'ok') };
}

/** Runs the doctor while `path` of the outside server returns another response. */
async function examineWith(path: string, response: (typeof responses)[string], changes: Record<string, string> = {}) {
  const usual = responses[path]!;
  responses[path] = response;
  try {
    return await examine(changes);
  } finally {
    responses[path] = usual;
  }
}

async function onDatabase(url: string, ...statements: string[]) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

test('for a healthy service, every check is ok, and the exit code is 0', async () => {
  const { code, findings, troubles } = await examine();
  expect(troubles).toEqual([]);
  expect(code).toBe(0);
  expect(findings.map(({ check }) => check)).toEqual([
    'configuration',
    'EGRESS_ALLOW',
    'outgoing connections',
    'clock',
    `issuer ${outside.url} keys`,
    `issuer ${outside.url} discovery`,
    'facilitator',
    'facilitator credentials',
    'chain',
    'database',
    'database version',
    'database migrations',
    'installation',
    'database clock',
    'database LISTEN',
    'database connections',
    'secret keys',
  ]);
  expect(findings[4]!.message).toMatch(/^1 key for /);
});

test('without --json, doctor prints one line per check, with advice below each failed check', async () => {
  const { code, stdout } = await runCli(['doctor'], environment({ DATABASE_POOL_SIZE: '500' }));
  expect(code).toBe(1);
  expect(stdout).toMatch(/^ok +database version: PostgreSQL \d+/m);
  expect(stdout).toMatch(/^failed +database connections: .*506.*\n +→ Lower DATABASE_POOL_SIZE/m);
});

test('doctor reports every configuration problem and then runs no other checks', async () => {
  const { code, findings } = await examine({ PORT: 'high', NETWORK: 'eip155:2' });
  expect(code).toBe(1);
  expect(findings.map(({ status, message }) => [status, message.split(':')[0]])).toEqual([
    ['failed', 'PORT'],
    ['failed', 'NETWORK'],
  ]);
});

describe('for the database, doctor', () => {
  const only = (check: string, status: string, message: RegExp) => [
    expect.objectContaining({ check, status, message: expect.stringMatching(message), advice: expect.any(String) }),
  ];

  test('reports that it is unreachable or does not exist', async () => {
    const closed = await startReceiver();
    await closed.close();
    const away = await examine({ DATABASE_URL: `postgres://tollgate:hunter2@127.0.0.1:${closed.port}/tollgate` });
    expect(away.troubles).toEqual(only('database', 'failed', /^127\.0\.0\.1:\d+\/tollgate: .*ECONNREFUSED/));
    expect(JSON.stringify(away.findings)).not.toContain('hunter2');
    const wrong = new URL(database.url);
    wrong.pathname = '/there_is_none';
    expect((await examine({ DATABASE_URL: wrong.href })).troubles).toEqual(
      only('database', 'failed', /does not exist/),
    );
  });

  test('reports migrations that are pending, unknown, changed, or failed', async () => {
    const empty = await createEmptyDatabase();
    const { code, troubles } = await examine({ DATABASE_URL: empty.url });
    expect(troubles).toEqual(only('database migrations', 'warning', /pending: .*_init/));
    expect(code).toBe(0);
    await empty.drop();

    const other = await createTestDatabase();
    const env = { DATABASE_URL: other.url };
    const history = '"_prisma_migrations"';
    const states: [statement: string, status: string, message: RegExp][] = [
      [
        `INSERT INTO ${history} (id, checksum, migration_name, finished_at) VALUES ('x', 'y', '29990101_later', now())`,
        'warning',
        /29990101_later/,
      ],
      [`UPDATE ${history} SET checksum = 'other' WHERE migration_name LIKE '%_init'`, 'failed', /_init was changed/],
      [`UPDATE ${history} SET finished_at = NULL WHERE migration_name LIKE '%_init'`, 'failed', /_init failed/],
    ];
    for (const [statement, status, message] of states) {
      await onDatabase(other.url, statement);
      expect((await examine(env)).troubles).toEqual(only('database migrations', status, message));
    }
    await other.drop();
  });

  test('reports a copy, a wrong clock, and lost notifications', async () => {
    const other = await createTestDatabase();
    await onDatabase(
      other.url,
      `INSERT INTO "Installation" ("identity", "timeline") VALUES ('the original', 1)`,
      'CREATE SCHEMA broken',
      `CREATE FUNCTION broken.clock_timestamp() RETURNS timestamptz LANGUAGE sql
        AS $$ SELECT pg_catalog.clock_timestamp() + interval '10 minutes' $$`,
      'CREATE FUNCTION broken.pg_notify(text, text) RETURNS void LANGUAGE sql AS $$ SELECT $$',
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = broken, pg_catalog, public', current_database()); END $$`,
    );
    const { troubles } = await examine({ DATABASE_URL: other.url });
    expect(troubles).toEqual([
      ...only('installation', 'failed', /On hold \(copied\)/),
      ...only('database clock', 'failed', /differs from this machine's clock by 600 s/),
      ...only('database LISTEN', 'failed', /No notification arrived/),
    ]);
    await other.drop();
  });

  test('reports fewer connections than the pool needs', async () => {
    const { troubles } = await examine({ DATABASE_POOL_SIZE: '500' });
    expect(troubles).toEqual(only('database connections', 'failed', /needs 506/));
  });
});

describe('doctor reports stored secrets', () => {
  const key = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;
  const [old, young, foreign] = [key('old'), key('young'), key('foreign')];
  let app: TestApp;

  beforeAll(async () => {
    app = await startTestApp({ env: { SECRET_KEYS: old } });
    const user = await app.user('alice');
    const { base } = await createProject(user);
    await createWebhook(user, base);
  });
  afterAll(() => app.stop());

  test.each([
    [
      'with a warning if they are sealed under an old key',
      () => `${young},${old}`,
      'warning',
      /is young, but 1 secret and 0 API keys use older ones/,
    ],
    [
      'with a failure if they are sealed under a missing key',
      () => foreign,
      'failed',
      /^1 stored secret uses a key that is missing/,
    ],
  ])('%s', async (_title, keys, status, message) => {
    const { findings, code } = await examine({ DATABASE_URL: app.databaseUrl, SECRET_KEYS: keys() });
    const finding = findings.find(({ check }) => check === 'secret keys');
    expect(finding).toMatchObject({ status, message: expect.stringMatching(message) });
    expect(code).toBe(status === 'failed' ? 1 : 0);
    for (const secret of [old, young, foreign]) expect(JSON.stringify(findings)).not.toContain(secret.split(':')[1]);
  });
});

describe('doctor reports', () => {
  test.each([
    [
      'a facilitator for another network',
      '/supported',
      () => json({ kinds: [{ x402Version: 2, scheme: 'exact', network: 'eip155:8453' }] }),
      'facilitator',
      /does not settle "exact" payments on eip155:84532. It offers exact on eip155:8453 \(x402 version 2\)/,
    ],
    [
      'a facilitator that supports only version 1 of x402',
      '/supported',
      () => json({ kinds: [{ x402Version: 1, scheme: 'exact', network: 'base-sepolia' }] }),
      'facilitator',
      /It offers exact on base-sepolia \(x402 version 1\)/,
    ],
    [
      'a facilitator URL with a wrong path',
      '/verify',
      () => ({ statusCode: 404 }),
      'facilitator credentials',
      /404. Every payment/,
    ],
    ['a facilitator that returns 500', '/supported', () => ({ statusCode: 500 }), 'facilitator', /status 500/],
    [
      'a facilitator that rejects the credentials',
      '/verify',
      () => ({ statusCode: 401 }),
      'facilitator credentials',
      /401/,
    ],
    [
      'a facilitator that rejects the credentials for settlements',
      '/settle',
      () => ({ statusCode: 403 }),
      'facilitator credentials',
      /\/settle responded with 403. Every payment/,
    ],
    [
      'a node on another chain',
      '/rpc',
      () => json({ jsonrpc: '2.0', id: 1, result: '0x1' }),
      'chain',
      /is on chain 1,/,
    ],
    [
      'a node whose USDC has another name and other decimals',
      '/rpc',
      node({ name: 'USD Coin', decimals: 18 }),
      'chain',
      /name is "USD Coin", not "USDC"\. The token's decimals is 18, not 6\. Payments on Base Sepolia fail/,
    ],
    ['a node without a token contract', '/rpc', nodeWithoutToken, 'chain', /returned no data/],
    ['a node that does not speak JSON-RPC', '/rpc', () => ({ body: '<html>' }), 'chain', /no JSON-RPC result/],
    [
      'a provider with keys that match none of the algorithms',
      '/jwks',
      () => json({ keys: [{ ...jwk, alg: 'ES512' }] }),
      /keys$/,
      /No published key matches RS256, ES256, EdDSA. The provider publishes: ES512/,
    ],
    ['a provider without keys', '/jwks', () => ({ statusCode: 404 }), /keys$/, /status 404/],
    [
      'a provider with a different issuer name',
      '/.well-known/openid-configuration',
      () => json({ issuer: `${outside.url}/` }),
      /discovery$/,
      /issuer is .*\/, so/,
    ],
  ] as const)('a failure for %s', async (_title, path, response, check, message) => {
    const { code, troubles } = await examineWith(path, response as (typeof responses)[string]);
    expect(code).toBe(1);
    expect(troubles).toEqual([
      expect.objectContaining({
        check: typeof check === 'string' ? check : expect.stringMatching(check),
        status: 'failed',
        message: expect.stringMatching(message),
        advice: expect.any(String),
      }),
    ]);
  });

  test.each([
    ['the facilitator', '/supported', 308, 'facilitator', /redirects/, 'Set FACILITATOR_URL (or FACILITATOR_URLS) to'],
    [
      'payments',
      '/verify',
      301,
      'facilitator credentials',
      /redirects/,
      'Set FACILITATOR_URL (or FACILITATOR_URLS) to',
    ],
    [
      'settlements',
      '/settle',
      302,
      'facilitator credentials',
      /redirects/,
      'Set FACILITATOR_URL (or FACILITATOR_URLS) to',
    ],
    ['the node', '/rpc', 301, 'chain', /redirects to http.*\/rpc\. Set RPC_URL/, 'RPC_URL'],
    ['the keys', '/jwks', 307, /keys$/, /redirects to http.*\/jwks\. Use that URL/, '`jwksUri`'],
  ] as const)('where a redirect of %s leads', async (_title, path, statusCode, check, message, advice) => {
    await using elsewhere = await startReceiver(({ path }) => responses[path]!());
    const location = `${elsewhere.url}${path}`;
    const { code, troubles } = await examineWith(path, () => ({ statusCode, headers: { location } }), {
      EGRESS_ALLOW: `127.0.0.1/32:${outside.port},127.0.0.1/32:${elsewhere.port}`,
      FACILITATOR_TOKEN: 'hunter2',
    });
    expect(code).toBe(1);
    expect(troubles).toMatchObject([
      {
        check: typeof check === 'string' ? check : expect.stringMatching(check),
        status: 'failed',
        message: expect.stringMatching(message),
        advice: expect.stringContaining(advice),
      },
    ]);
    expect(JSON.stringify(troubles)).toContain(elsewhere.url);
    expect(elsewhere.requests).toEqual([]);
  });

  test('nothing wrong with redirects that are followed', async () => {
    const moved = { ...responses };
    try {
      for (const [path, response] of Object.entries(moved)) {
        const location = `/moved${path}`;
        responses[path] = () => ({ statusCode: 308, headers: { location } });
        responses[location] = response;
      }
      expect((await examine({ FACILITATOR_TOKEN: 'hunter2' })).troubles).toEqual([]);
    } finally {
      for (const path of Object.keys(responses)) delete responses[path];
      Object.assign(responses, moved);
    }
  });

  test('a warning for a key set that has moved and for a missing discovery document', async () => {
    const path = '/.well-known/openid-configuration';
    const moved = await examineWith(path, () => json({ issuer: outside.url, jwks_uri: `${outside.url}/moved` }));
    expect(moved.troubles).toMatchObject([{ status: 'warning', message: expect.stringContaining('/moved') }]);
    const none = await examineWith(path, () => ({ statusCode: 404 }));
    expect(none.troubles).toMatchObject([{ status: 'warning', message: expect.stringContaining('404') }]);
    expect(none.code).toBe(0);
  });

  test('a warning for a facilitator without version 1 of x402', async () => {
    const kinds = [{ x402Version: 2, scheme: 'exact', network: 'eip155:*' }];
    const { code, troubles } = await examineWith('/supported', () => json({ kinds }));
    expect(code).toBe(0);
    expect(troubles).toMatchObject([
      { check: 'facilitator', status: 'warning', message: expect.stringContaining('only for x402 version 2') },
    ]);
  });

  test('a clock that differs from the clocks of other servers', async () => {
    const at = (seconds: number) => () => ({
      ...json({ keys: [jwk] }),
      headers: { date: new Date(Date.now() - seconds * 1000).toUTCString() },
    });
    expect((await examineWith('/jwks', at(120))).troubles).toMatchObject([{ check: 'clock', status: 'warning' }]);
    expect((await examineWith('/jwks', at(3600))).troubles).toMatchObject([{ check: 'clock', status: 'failed' }]);
  });

  test('blocked outgoing requests, by name or by address', async () => {
    const issuer = (jwksUri: string) => JSON.stringify([{ issuer: 'provider', jwksUri, audience: 'tollgate' }]);
    const nameless = await examine({ AUTH_ISSUERS: issuer('https://keys.nowhere.invalid/jwks') });
    expect(nameless.troubles[0]).toMatchObject({
      check: 'outgoing connections',
      advice: expect.stringContaining('resolver'),
    });
    const inside = await examine({ AUTH_ISSUERS: issuer('http://127.0.0.1:1/jwks') });
    expect(inside.troubles[0]).toMatchObject({
      check: 'outgoing connections',
      advice: expect.stringContaining('SERVICE_ALLOW'),
    });
  });

  test('a warning for an EGRESS_ALLOW that allows a whole network', async () => {
    const { troubles } = await examine({ EGRESS_ALLOW: `127.0.0.1/32:${outside.port},10.0.0.0/8:443,127.0.0.1/32:*` });
    expect(troubles).toMatchObject([{ check: 'EGRESS_ALLOW', status: 'warning' }]);
    expect(troubles[0]!.message).toMatch(/every port: 10\.0\.0\.0\/8:443, 127\.0\.0\.1\/32:\*\.$/);
  });

  test('what UPSTREAM_ALLOW, WEBHOOK_ALLOW, and SERVICE_ALLOW allow, with a warning for whole networks', async () => {
    const project = newId('Project');
    const { findings, troubles } = await examine({
      EGRESS_ALLOW: '',
      SERVICE_ALLOW: `127.0.0.1/32:${outside.port}`,
      UPSTREAM_ALLOW: `10.0.0.7/32:8080,10.1.0.0/16:80@${project}`,
      WEBHOOK_ALLOW: `10.0.0.9/32:8443@${project}`,
    });
    expect(troubles).toMatchObject([{ check: 'UPSTREAM_ALLOW', status: 'warning' }]);
    expect(troubles[0]!.message).toMatch(/every port for the upstreams of the listed projects: 10\.1\.0\.0\/16:80\.$/);
    const messages = findings.map(({ check, message }) => `${check}: ${message}`);
    expect(messages).toContain('UPSTREAM_ALLOW: allows 10.0.0.7/32:8080 for the upstreams of every project');
    expect(messages).toContain('WEBHOOK_ALLOW: allows 10.0.0.9/32:8443 for the webhooks of the listed projects');
    expect(messages).toContain(`SERVICE_ALLOW: allows 127.0.0.1/32:${outside.port} for the URLs in the configuration`);
  });

  test('nothing wrong behind a proxy, and what to check if the proxy fails', async () => {
    await using proxy = await startConnectProxy({ credentials: 'user:hunter2' });
    const before = outside.connectionCount();
    expect((await examine({ EGRESS_PROXY: proxy.url })).troubles).toEqual([]);
    // Keys, discovery, the facilitator, and the node: no connection bypasses the proxy.
    expect(outside.connectionCount() - before).toBe(proxy.targets.length);
    expect(proxy.targets.length).toBeGreaterThan(0);
    proxy.failWith(403);
    const { troubles, findings } = await examine({ EGRESS_PROXY: proxy.url });
    expect(troubles[0]).toMatchObject({
      check: 'outgoing connections',
      advice: expect.stringContaining('EGRESS_PROXY'),
    });
    expect(JSON.stringify(findings)).not.toContain('hunter2');
  });
});

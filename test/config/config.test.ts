import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../src/config/config.ts';
import { VARIABLES } from '../../src/config/variables.ts';
import { newId } from '../../src/ids.ts';
import { maskUrl } from '../../src/secrets/mask-url.ts';

const SECRET_KEYS = `k1:${randomBytes(32).toString('base64')}`;
const ISSUER = { issuer: 'https://id.example.com/', jwksUri: 'https://id.example.com/jwks.json', audience: 'tollgate' };
const PAYMENTS = { NETWORK: 'eip155:8453', FACILITATOR_URL: 'https://facilitator.example.com/v2/x402' };
const PRODUCTION = { NODE_ENV: 'production', SECRET_KEYS, AUTH_ISSUERS: JSON.stringify([ISSUER]), ...PAYMENTS };

/** Returns the problems that `readConfig` reports, or an empty list. */
function problemsOf(env: Record<string, string | undefined>): string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe('without any variables', () => {
  test('every default is safe on a developer’s machine', () => {
    expect(readConfig({})).toMatchObject({
      production: false,
      port: 4000,
      host: '127.0.0.1',
      dataDir: '.data',
      databaseUrl: undefined,
      issuers: [],
      secretKeys: undefined,
      corsOrigins: [],
      trustedProxies: [],
      publicUrl: undefined,
      roles: new Set(['api', 'gateway', 'worker']),
    });
  });

  test.each<[string, NodeJS.ProcessEnv, number[]]>([
    ['every port', {}, [3000, 4010, 4011, 4012]],
    ['every port', { HOST: '::1', PUBLIC_URL: 'http://localhost:4000' }, [3000, 4010, 4011, 4012]],
    ['only the ports of our own tools', { HOST: '0.0.0.0' }, [4010, 4011, 4012]],
    ['only the ports of our own tools', { PUBLIC_URL: 'https://tunnel.example' }, [4010, 4011, 4012]],
    ['no port', { EGRESS_ALLOW: '10.0.0.0/8:*' }, []],
    ['no port', { NODE_ENV: 'test' }, []],
  ])('requests can be sent to %s of this machine with the environment %j', (_ports, env, expected) => {
    const { permits, coversPort } = readConfig(env).egressAllow;
    expect([3000, 4010, 4011, 4012].filter((port) => permits('127.0.0.1', port))).toEqual(expected);
    expect(permits('::1', 3000)).toBe(expected.includes(3000));
    expect([permits('127.0.0.2', 3000), permits('192.168.0.1', 3000)]).toEqual([false, false]);
    if (expected.includes(3000)) expect([coversPort(3000, true), coversPort(80, false)]).toEqual([true, false]);
  });

  test('an empty variable counts as unset', () => {
    const empty = Object.fromEntries(Object.keys(VARIABLES).map((name) => [name, '']));
    expect(readConfig(empty)).toMatchObject({ port: 4000, issuers: [] });
  });

  test('NODE_ENV=test allows no private addresses', () => {
    expect(readConfig({ NODE_ENV: 'test' }).egressAllow.privateEntries).toEqual([]);
  });

  test('payments use the test network and the sandbox', () => {
    const { networks, sandbox, facilitatorCredential } = readConfig({});
    expect({ networks: networks.map(({ network }) => network.id), sandbox, facilitatorCredential }).toEqual({
      networks: ['eip155:84532'],
      sandbox: true,
      facilitatorCredential: { kind: 'none' },
    });
  });
});

describe('a variable', () => {
  test.each<[string, string, object]>([
    ['PORT', '0', { port: 0 }],
    ['PORT', '65535', { port: 65_535 }],
    ['HOST', '::', { host: '::' }],
    ['ROLES', 'api', { roles: new Set(['api']) }],
    ['ROLES', ' worker , api,', { roles: new Set(['worker', 'api']) }],
    ['DATABASE_URL', 'postgres://u:p@db.example:5432/x?sslmode=require', {}],
    ['DATABASE_URL', 'postgresql://db/x', {}],
    ['DATABASE_URL', 'postgres:///x?host=/var/run/postgresql&sslmode=disable', {}],
    ['PUBLIC_URL', 'https://pay.example.com//', { publicUrl: 'https://pay.example.com' }],
    ['PUBLIC_URL', 'HTTPS://Pay.example.com/?\n', { publicUrl: 'https://pay.example.com' }],
    [
      'CORS_ORIGINS',
      'https://a.example, http://localhost:5173',
      { corsOrigins: ['https://a.example', 'http://localhost:5173'] },
    ],
    ['CORS_ORIGINS', '*', { corsOrigins: ['*'] }],
    ['TRUSTED_PROXIES', '10.0.0.0/8,::1', { trustedProxies: ['10.0.0.0/8', '::1'] }],
    ['LOG_LEVEL', 'silent', { logLevel: 'silent' }],
    [
      'NETWORK',
      'eip155:8453',
      { networks: [{ network: { chainId: 8453 }, rpcUrl: 'https://mainnet.base.org' }], sandbox: false },
    ],
    ['NETWORK', 'base-sepolia', { networks: [{ network: { chainId: 84_532 } }] }],
    [
      'NETWORKS',
      'polygon, eip155:8453',
      { networks: [{ network: { chainId: 137 } }, { network: { chainId: 8453 } }], sandbox: false },
    ],
    ['NETWORKS', 'base-sepolia,polygon-amoy', { sandbox: true }],
    [
      'RPC_URLS',
      '{"base-sepolia": "https://node.example"}',
      { networks: [{ network: { chainId: 84_532 }, rpcUrl: 'https://node.example' }] },
    ],
    [
      'FACILITATOR_URLS',
      '{"eip155:84532": "https://f.example"}',
      {
        networks: [{ facilitatorUrl: 'https://f.example' }],
        facilitatorUrl: 'https://www.x402.org/facilitator',
        sandbox: false,
      },
    ],
    ['FACILITATOR_URL', 'https://f.example', { facilitatorUrl: 'https://f.example', sandbox: false }],
    ['FACILITATOR_TOKEN', 'abc', { facilitatorCredential: { kind: 'token', token: 'abc' } }],
    ['RPC_URL', 'https://node.example', { networks: [{ rpcUrl: 'https://node.example' }] }],
    ['EGRESS_PROXY', 'http://u:p@proxy:3128', { egressProxy: { hostname: 'proxy', port: 3128 } }],
    ['SERVICE_ALLOW', '10.0.0.1/32:80', { serviceAllow: { entries: ['10.0.0.1/32:80'] } }],
    ['WEBHOOK_ALLOW', '10.0.0.1/32:80', { webhookAllow: { openings: [{ entry: '10.0.0.1/32:80' }] } }],
    ['UPSTREAM_ALLOW', '10.0.0.1/32:80', { upstreamAllow: { openings: [{ entry: '10.0.0.1/32:80' }] } }],
    ['SANDBOX', 'off', { sandbox: false }],
    ['ROLES', 'api,worker', { sandbox: false }],
    ['NODE_ENV', 'test', { sandbox: false }],
  ])('%s=%s is read', (name, value, expected) => {
    expect(readConfig({ [name]: value })).toMatchObject(expected);
  });

  test.each([
    ...[' ', 'x', '-1', '65536', '4000.5', '1e3', '0x10', 'Infinity', '4000 '].map((value) => ['PORT', value]),
    ...['0', '1', '501', 'x'].map((value) => ['DATABASE_POOL_SIZE', value]),
    ...['mysql://x/y', 'localhost', 'postgres'].map((value) => ['DATABASE_URL', value]),
    ...['nope', 'api,nope', ','].map((value) => ['ROLES', value]),
    ...['prod', 'Production'].map((value) => ['NODE_ENV', value]),
    ...['ftp://x.example', 'pay.example.com', '/', 'https://host/tollgate', 'https://host/?a', 'https://u@host'].map(
      (value) => ['PUBLIC_URL', value],
    ),
    ...['a.example', 'https://a.example/', 'https://a.example/x', 'https://a.example,x', 'https://*.a.example'].map(
      (value) => ['CORS_ORIGINS', value],
    ),
    // ipaddr.js reads 010.0.0.0/8 as 8.0.0.0/8. Addresses are compared as IPv4, so a mapped network never matches.
    ...['x', '10.0.0.0/33', '10.0.0.0/8,x', '010.0.0.0/8', '10.1/16', '::ffff:10.0.0.0/104'].map((value) => [
      'TRUSTED_PROXIES',
      value,
    ]),
    ['CONSOLE_ISSUER_ORIGINS', 'https://*'],
    ...['verbose', 'INFO'].map((value) => ['LOG_LEVEL', value]),
    ...['eip155:2', 'solana', '8453'].map((value) => ['NETWORK', value]),
    ...['f.example', 'ws://f.example'].flatMap((value) => [
      ['FACILITATOR_URL', value],
      ['RPC_URL', value],
    ]),
    ...['yes', 'true'].map((value) => ['SANDBOX', value]),
    ['FACILITATOR_KEY_SECRET', randomBytes(64).toString('base64')],
    ...['127.0.0.1', '127.0.0.1/32', '169.254.169.254/32:80', 'x'].flatMap((value) => [
      ['EGRESS_ALLOW', value],
      ['UPSTREAM_ALLOW', value],
      ['WEBHOOK_ALLOW', value],
      ['SERVICE_ALLOW', value],
    ]),
    ['SERVICE_ALLOW', `127.0.0.1/32:80@${newId('Project')}`],
    ['UPSTREAM_ALLOW', '127.0.0.1/32:80@proj_1'],
    ['WEBHOOK_ALLOW', '127.0.0.1/32:80@proj_1'],
    ...['proxy:3128', 'https://proxy:3128', 'socks5://proxy:1080'].map((value) => ['EGRESS_PROXY', value]),
    ...['x', '{}', '[{}]', '[{"issuer":"https://a.example"}]'].map((value) => ['AUTH_ISSUERS', value]),
    ...['k1', 'k1:short', `${SECRET_KEYS},${SECRET_KEYS}`].map((value) => ['SECRET_KEYS', value]),
  ] as [string, string][])('%s=%s is rejected with an error that names the variable', (name, value) => {
    const problems = problemsOf({ [name]: value });
    expect(problems).not.toEqual([]);
    for (const problem of problems) expect(problem).toMatch(new RegExp(`^${name}: .`));
  });

  test.each([
    ['zeros', Buffer.alloc(32)],
    ['one repeated byte', Buffer.alloc(32, 'k')],
    ['a repeated word', Buffer.alloc(32, 'password')],
    ['text', Buffer.from('correct horse battery staple, 12')],
    ['hexadecimal digits', Buffer.from('8f14e45fceea167a5a36dedd4bea2543')],
    ['counted bytes', Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7))],
  ])('SECRET_KEYS with a current key of %s is rejected without repeating it', (_what, key) => {
    const guessable = key.toString('base64');
    const problems = problemsOf({ SECRET_KEYS: `k1:${guessable},${SECRET_KEYS.replace('k1', 'k2')}` });
    expect(problems).toEqual([expect.stringMatching(/^SECRET_KEYS: .*random/)]);
    expect(problems.join()).not.toContain(guessable);
  });

  test('SECRET_KEYS can list a guessable key after the current one, so that it can be replaced', () => {
    expect(problemsOf({ SECRET_KEYS: `${SECRET_KEYS},old:${Buffer.alloc(32).toString('base64')}` })).toEqual([]);
  });

  test('a thousand random keys are accepted as SECRET_KEYS', () => {
    const keys = Array.from({ length: 1_000 }, () => `k1:${randomBytes(32).toString('base64')}`);
    expect(keys.flatMap((key) => problemsOf({ SECRET_KEYS: key }))).toEqual([]);
  });

  test('is reported together with all other invalid variables', () => {
    const named = problemsOf({ PORT: 'x', LOG_LEVEL: 'x', ROLES: 'x' }).map((problem) => problem.split(':')[0]);
    expect(named).toEqual(['PORT', 'ROLES', 'LOG_LEVEL']);
    const more = problemsOf({ EGRESS_ALLOW: 'x', AUTH_ISSUERS: 'x', SECRET_KEYS: 'x' });
    expect(more.map((problem) => problem.split(':')[0]).sort()).toEqual([
      'AUTH_ISSUERS',
      'EGRESS_ALLOW',
      'SECRET_KEYS',
    ]);
  });

  test('is reported once, whether it is malformed, contradictory, or unsafe', () => {
    const wrong = {
      PORT: 'abc',
      ROLES: 'foo',
      DATABASE_POOL_SIZE: '1',
      NETWORK: 'x',
      AUTH_ISSUERS: '{',
      EGRESS_ALLOW: 'foo',
      SECRET_KEYS: 'foo',
      FACILITATOR_KEY_ID: 'x',
      FACILITATOR_URL: 'x',
      CONSOLE_CLIENT_ID: 'x',
    };
    const problems = problemsOf({ NODE_ENV: 'production', ...wrong });
    const named = [...Object.keys(wrong), 'CONSOLE_ISSUER', 'FACILITATOR_KEY_SECRET'];
    const withoutAnother = ['FACILITATOR_KEY_ID', 'CONSOLE_CLIENT_ID'];
    expect(problems.map((problem) => problem.split(':')[0]).toSorted()).toEqual(
      named.filter((name) => !withoutAnother.includes(name)).toSorted(),
    );
    // The messages are our own, not a library's.
    expect(problems.join()).not.toMatch(/expected|Invalid (input|option|string|URL)|Too small/);
  });

  test.each([
    [
      'schema=tollgate',
      'schema',
      'Tollgate uses the schema `public`. Give it its own database, and remove the parameter.',
    ],
    ['currentSchema=tollgate', 'currentSchema', 'Tollgate uses the schema'],
    ['search_path=tollgate', 'search_path', 'Tollgate uses the schema'],
    ['options=-c%20search_path%3Dtollgate', 'options', 'Tollgate changes settings itself'],
    ['sslmode=require&connect_timeout=10', 'connect_timeout', 'Tollgate sets its own timeouts'],
    ['pgbouncer=true', 'pgbouncer', 'Set DATABASE_POOL_SIZE'],
    ['toString=1', 'toString', 'Remove it.'],
  ])('a database URL with ?%s is refused by the name of the parameter', (query, name, advice) => {
    for (const variable of ['DATABASE_URL', 'DATABASE_DIRECT_URL']) {
      const [problem, ...others] = problemsOf({
        DATABASE_URL: 'postgres://db/x',
        [variable]: `postgres://db/x?${query}`,
      });
      expect(problem).toContain(`${variable}: the parameter ${name} isn't supported. ${advice}`);
      expect(others).toEqual([]);
    }
  });

  test('DATABASE_DIRECT_URL requires DATABASE_URL', () => {
    const direct = { DATABASE_DIRECT_URL: 'postgres://db/x' };
    expect(problemsOf(direct)).toEqual(['DATABASE_DIRECT_URL: must be set together with DATABASE_URL']);
    expect(problemsOf({ ...direct, DATABASE_URL: 'db' })).toEqual(['DATABASE_URL: must be a postgres:// URL']);
    expect(problemsOf({ ...direct, DATABASE_URL: 'postgres://other/x' })).toEqual([]);
  });

  test('is not repeated in the error if it contains a secret', () => {
    const secret = randomBytes(20).toString('base64');
    expect(problemsOf({ SECRET_KEYS: `k1:${secret}` }).join()).not.toContain(secret);
    expect(problemsOf({ DATABASE_URL: `mysql://u:${secret}@db/x` }).join()).not.toContain(secret);
    expect(problemsOf({ EGRESS_PROXY: `https://u:${encodeURIComponent(secret)}@proxy` }).join()).not.toContain(
      encodeURIComponent(secret),
    );
    const key = { FACILITATOR_KEY_ID: 'id', FACILITATOR_KEY_SECRET: secret };
    expect(problemsOf(key)).toEqual(['FACILITATOR_KEY_SECRET: must be an Ed25519 key in base64, or an EC key in PEM']);
  });

  test.each(Object.entries(VARIABLES))('%s has help text', (_name, { help }) => {
    expect(help).toMatch(/^\S.*\.$/s);
  });
});

describe('several networks', () => {
  test('use the shared facilitator, public nodes, and their own URLs where they are set', () => {
    const { networks } = readConfig({
      NETWORKS: 'base,polygon',
      FACILITATOR_URL: 'https://f.example',
      FACILITATOR_URLS: '{"polygon": "https://p.example"}',
      RPC_URLS: '{"base": "https://b.example"}',
    });
    expect(networks).toMatchObject([
      { network: { id: 'eip155:8453' }, facilitatorUrl: 'https://f.example', rpcUrl: 'https://b.example' },
      { network: { id: 'eip155:137' }, facilitatorUrl: 'https://p.example', rpcUrl: 'https://polygon.drpc.org' },
    ]);
  });

  test('are listed once, even if both of their names are given', () => {
    expect(readConfig({ NETWORKS: 'base,eip155:8453' }).networks).toHaveLength(1);
  });

  test.each([
    ['NETWORKS and another NETWORK', { NETWORKS: 'base', NETWORK: 'polygon' }, 'NETWORKS: set either'],
    ['more NETWORKS than NETWORK', { NETWORKS: 'base,polygon', NETWORK: 'base' }, 'NETWORKS: set either'],
    ['an unknown network', { NETWORKS: 'base,eip155:2' }, 'NETWORKS: eip155:2 is not one of'],
    ['one node for several networks', { NETWORKS: 'base,polygon', RPC_URL: 'https://n.example' }, 'RPC_URL: a node'],
    ['a node for an unknown network', { RPC_URLS: '{"eip155:2": "https://n.example"}' }, 'RPC_URLS: eip155:2 is not'],
    ['nodes that are not JSON', { RPC_URLS: 'https://n.example' }, 'RPC_URLS: must be a JSON object'],
    [
      'a facilitator that is not a URL',
      { FACILITATOR_URLS: '{"base": "f"}' },
      'FACILITATOR_URLS: must be a JSON object',
    ],
  ])('are rejected with %s', (_what, env, problem) => {
    expect(problemsOf(env)).toEqual([expect.stringContaining(problem)]);
  });

  test('can include the network in NETWORK', () => {
    expect(problemsOf({ NETWORKS: 'base', NETWORK: 'eip155:8453' })).toEqual([]);
  });
});

describe('in production, the service', () => {
  const issuer = (changes: object) => ({ AUTH_ISSUERS: JSON.stringify([{ ...ISSUER, ...changes }]) });

  test('starts if it has an issuer and a key, and listens on every address', () => {
    expect(readConfig(PRODUCTION)).toMatchObject({ production: true, host: '0.0.0.0', issuers: [ISSUER] });
    expect(readConfig(PRODUCTION).egressAllow.privateEntries).toEqual([]);
  });

  test.each<[string, Record<string, string | undefined>, string]>([
    ['without an issuer', { AUTH_ISSUERS: undefined }, 'AUTH_ISSUERS'],
    ['with an empty list of issuers', { AUTH_ISSUERS: '[]' }, 'AUTH_ISSUERS'],
    ['without a key for stored secrets', { SECRET_KEYS: undefined }, 'SECRET_KEYS'],
    ['with the dev issuer', issuer({ issuer: 'https://dev.tollgate.invalid' }), 'AUTH_ISSUERS'],
    ['without a network', { NETWORK: undefined }, 'NETWORK'],
    ['without a facilitator', { FACILITATOR_URL: undefined }, 'FACILITATOR_URL'],
    ['with a facilitator over plain HTTP', { FACILITATOR_URL: 'http://facilitator.example.com' }, 'FACILITATOR_URL'],
    ['with a facilitator on this machine', { FACILITATOR_URL: 'https://127.0.0.1:4022' }, 'FACILITATOR_URL'],
    ['with a node on this machine', { RPC_URL: 'http://127.0.0.1:8545' }, 'RPC_URL'],
    [
      'with the facilitator of one network over plain HTTP',
      { FACILITATOR_URLS: '{"base": "http://f.example.com"}' },
      'FACILITATOR_URLS',
    ],
    ['with the node of one network on this machine', { RPC_URLS: '{"base": "http://[::1]"}' }, 'RPC_URLS'],
    ['with the sandbox', { SANDBOX: 'on' }, 'SANDBOX'],
    ['with requests to loopback allowed', { EGRESS_ALLOW: '127.0.0.1/32:4010' }, 'EGRESS_ALLOW'],
    ['with requests to IPv6 loopback allowed', { EGRESS_ALLOW: '[::1]/128:*' }, 'EGRESS_ALLOW'],
    ['with requests to any address allowed', { EGRESS_ALLOW: '0.0.0.0/0:*' }, 'EGRESS_ALLOW'],
    ['with requests to a private network allowed', { EGRESS_ALLOW: '10.0.0.0/8:*' }, 'EGRESS_ALLOW'],
    ['with an issuer that names no audience', issuer({ audience: undefined }), 'AUTH_ISSUERS'],
    ['with an issuer that signs with a shared secret', issuer({ algorithms: ['HS256'] }), 'AUTH_ISSUERS'],
    ['with an issuer that does not sign', issuer({ algorithms: ['none'] }), 'AUTH_ISSUERS'],
  ])('does not start %s', (_name, env, variable) => {
    const problems = problemsOf({ ...PRODUCTION, ...env });
    expect(new Set(problems.map((problem) => problem.split(':')[0]))).toEqual(new Set([variable]));
  });

  test.each([
    ...['http://id.example.com', 'https://localhost', 'https://localhost.', 'https://x.localhost', 'https://127.0.0.1'],
    ...['https://127.1', 'https://0x7f000001', 'https://[::1]', 'https://[::ffff:127.0.0.1]', 'https://0.0.0.0'],
    ...['https://10.0.0.1', 'https://192.168.0.1', 'https://169.254.169.254', 'https://id.test', 'https://id.invalid'],
    ...[
      'https://id.local',
      'https://id.internal',
      'https://intranet',
      'https://user@id.example.com',
      'ftp://id.example.com',
    ],
  ])('does not start with keys or an issuer at %s', (address) => {
    for (const changes of [{ issuer: address }, { jwksUri: `${address}/jwks.json` }]) {
      expect(problemsOf({ ...PRODUCTION, ...issuer(changes) }), JSON.stringify(changes)).not.toEqual([]);
    }
  });

  test('starts with an issuer that is a name instead of a URL', () => {
    expect(problemsOf({ ...PRODUCTION, ...issuer({ issuer: 'privy.io' }) })).toEqual([]);
  });

  test('needs no shared facilitator if each network has its own', () => {
    const env = { FACILITATOR_URL: undefined, FACILITATOR_URLS: '{"base": "https://f.example.com"}' };
    expect(problemsOf({ ...PRODUCTION, ...env })).toEqual([]);
  });

  test('needs no networks without the gateway role', () => {
    expect(readConfig({ ...PRODUCTION, ROLES: 'api', NETWORK: undefined }).networks).toEqual([]);
  });

  test('needs no facilitator without the gateway role', () => {
    expect(problemsOf({ ...PRODUCTION, ROLES: 'api', NETWORK: undefined, FACILITATOR_URL: undefined })).toEqual([]);
  });

  test.each([
    ['UPSTREAM_ALLOW', '127.0.0.1/32:8080'],
    ['WEBHOOK_ALLOW', '192.168.1.9/32:8443'],
    ['UPSTREAM_ALLOW', `10.0.0.0/8:*,[fd12::]/16:443@${newId('Project')}`],
    ['SERVICE_ALLOW', '10.0.0.0/8:*,127.0.0.1/32:8545'],
  ])('can open private addresses with %s=%s', (name, value) => {
    expect(problemsOf({ ...PRODUCTION, [name]: value })).toEqual([]);
  });

  test.each(['UPSTREAM_ALLOW', 'WEBHOOK_ALLOW', 'SERVICE_ALLOW'])(
    'does not start if %s opens too large a network',
    (name) => {
      for (const entry of ['0.0.0.0/2:80', '8.0.0.0/7:*', '[fd00::]/15:80', '[2000::]/3:443']) {
        expect(problemsOf({ ...PRODUCTION, [name]: `10.0.0.1/32:80,${entry}` }), entry).toEqual([
          expect.stringMatching(new RegExp(`^${name}: .*(a network that is too large|never allowed)`)),
        ]);
      }
    },
  );

  test.each(['0.0.0.0/0', '::/0', '128.0.0.0/1', '10.0.0.0/7', '2000::/15'])(
    'does not start if the proxies are in %s, because all callers could choose their address',
    (network) => {
      expect(problemsOf({ ...PRODUCTION, TRUSTED_PROXIES: `10.0.0.0/8,2001::/16,::1,${network}` })).toEqual([
        `TRUSTED_PROXIES: ${network} trusts a network that is too large. Use a prefix length of at least 8 (IPv4) or 16 (IPv6), and list only your load balancers: callers with a trusted address can claim any other`,
      ]);
    },
  );

  test('accepts private URLs in its own settings only if SERVICE_ALLOW includes their addresses', () => {
    const PRIVATE = {
      FACILITATOR_URL: 'http://10.0.0.2:4022/x402',
      RPC_URL: 'http://node:8545',
      ...issuer({ issuer: 'http://keycloak.internal:8080/realms/a', jwksUri: 'https://10.0.0.3:8443/jwks' }),
    };
    const SERVICE_ALLOW = '10.0.0.2/32:4022,10.0.0.0/24:8545,10.0.0.0/24:8080,10.0.0.3/32:8443';
    expect(problemsOf({ ...PRODUCTION, ...PRIVATE, SERVICE_ALLOW })).toEqual([]);
    const opensLess = SERVICE_ALLOW.replace('10.0.0.2', '10.0.0.1').replace('8545', '8546').replace('8443', '8444');
    const ending = 'must be a public https URL, or an address in SERVICE_ALLOW';
    expect(problemsOf({ ...PRODUCTION, ...PRIVATE, SERVICE_ALLOW: opensLess })).toEqual([
      `FACILITATOR_URL: ${maskUrl(PRIVATE.FACILITATOR_URL)} ${ending}`,
      `RPC_URL: http://node:8545 ${ending}`,
      `AUTH_ISSUERS: https://10.0.0.3:8443/jwks ${ending}`,
    ]);
    // The log contains these messages, and such URLs often include a key.
    const RPC_URL = 'http://node:8545/v2/key-0123456789?token=key-0123456789';
    expect(problemsOf({ ...PRODUCTION, RPC_URL })).toEqual([`RPC_URL: ${maskUrl(RPC_URL)} ${ending}`]);
    expect(maskUrl(RPC_URL)).not.toContain('0123456789');
    // Addresses in `UPSTREAM_ALLOW` are for upstreams only.
    const UPSTREAM_ALLOW = SERVICE_ALLOW;
    expect(problemsOf({ ...PRODUCTION, ...PRIVATE, UPSTREAM_ALLOW })).toHaveLength(4);
  });

  test('never accepts the dev issuer', () => {
    const dev = issuer({ issuer: 'https://dev.tollgate.invalid' });
    expect(problemsOf({ ...PRODUCTION, ...dev, SERVICE_ALLOW: '10.0.0.0/8:*' })).toHaveLength(1);
  });

  test('can allow plain HTTP to a public address', () => {
    expect(problemsOf({ ...PRODUCTION, EGRESS_ALLOW: '93.184.216.34/32:8080' })).toEqual([]);
  });
});

describe('the console’s client', () => {
  const issuer = (name: string) => ({
    issuer: `https://${name}.idp.com/`,
    jwksUri: `https://${name}.idp.com/k`,
    audience: 'a',
  });
  const AUTH_ISSUERS = JSON.stringify([issuer('one'), issuer('two')]);

  test('signs in with the first issuer, or with CONSOLE_ISSUER', () => {
    expect(readConfig({}).consoleClient).toBeUndefined();
    expect(readConfig({ AUTH_ISSUERS, CONSOLE_CLIENT_ID: 'c' }).consoleClient).toEqual({
      issuer: 'https://one.idp.com/',
      clientId: 'c',
      scopes: 'openid profile offline_access',
      audience: null,
      origins: [],
    });
    const named = readConfig({ AUTH_ISSUERS, CONSOLE_CLIENT_ID: 'c', CONSOLE_ISSUER: 'https://two.idp.com/' });
    expect(named.consoleClient?.issuer).toBe('https://two.idp.com/');
  });

  test('rejects an issuer whose tokens would not be accepted', () => {
    const strange = { AUTH_ISSUERS, CONSOLE_CLIENT_ID: 'c', CONSOLE_ISSUER: 'https://three.idp.com/' };
    expect(problemsOf(strange)).toEqual(['CONSOLE_ISSUER: must be one of the issuers in AUTH_ISSUERS']);
    expect(problemsOf({ CONSOLE_CLIENT_ID: 'c' })).toEqual([
      'CONSOLE_ISSUER: must be one of the issuers in AUTH_ISSUERS',
    ]);
  });
});

describe('the OAuth apps that sellers connect their accounts with', () => {
  const APP = { CONNECT_XERO_CLIENT_ID: 'id', CONNECT_XERO_CLIENT_SECRET: 'secret' };
  const PUBLIC_URL = 'https://pay.example';

  test('are listed by vendor', () => {
    expect(readConfig({}).oauthApps).toEqual({});
    expect(readConfig({ ...APP, PUBLIC_URL }).oauthApps).toEqual({ xero: { clientId: 'id', clientSecret: 'secret' } });
  });

  test('need a client ID, a client secret, and a URL to return to', () => {
    const { CONNECT_XERO_CLIENT_ID, CONNECT_XERO_CLIENT_SECRET } = APP;
    const together = ['CONNECT_XERO_CLIENT_ID: must be set together with CONNECT_XERO_CLIENT_SECRET'];
    expect(problemsOf({ CONNECT_XERO_CLIENT_ID, PUBLIC_URL })).toEqual(together);
    expect(problemsOf({ CONNECT_XERO_CLIENT_SECRET, PUBLIC_URL })).toEqual(together);
    expect(problemsOf(APP)).toEqual(['CONNECT_XERO_CLIENT_ID: must be set together with PUBLIC_URL']);
  });
});

describe('email', () => {
  const from = { NOTIFY_FROM: 'Tollgate <notices@example.com>' };
  const smtp = { NOTIFY_SMTP_URL: 'smtps://user:password@mail.example.com' };
  const resend = { NOTIFY_RESEND_API_KEY: 're_123' };

  test('is off by default, and is sent by SMTP or through Resend', () => {
    expect(readConfig({}).mail).toBeUndefined();
    expect(readConfig({ ...from, ...smtp }).mail).toEqual({
      from: from.NOTIFY_FROM,
      via: { smtpUrl: smtp.NOTIFY_SMTP_URL },
    });
    expect(readConfig({ ...from, ...resend }).mail).toEqual({
      from: from.NOTIFY_FROM,
      via: { resendApiKey: 're_123' },
    });
  });

  test('needs a sender and exactly one way to send', () => {
    for (const env of [from, smtp, resend, { ...from, ...smtp, ...resend }])
      expect(problemsOf(env)).toEqual([expect.stringMatching(/^NOTIFY_FROM: /)]);
    expect(problemsOf({ ...from, NOTIFY_SMTP_URL: 'https://mail.example.com' })).toContain(
      'NOTIFY_SMTP_URL: must be an smtp:// or smtps:// URL',
    );
  });
});

describe('GATEWAY_DOMAIN', () => {
  const problem = (GATEWAY_DOMAIN: string, PUBLIC_URL?: string, NODE_ENV?: string) =>
    problemsOf({ GATEWAY_DOMAIN, PUBLIC_URL, NODE_ENV }).filter((text) => text.startsWith('GATEWAY_DOMAIN'));

  test.each(['pay.com', 'gateway.localhost', 'a.b-c.example'])('can be %s', (domain) => {
    expect(problem(domain, 'https://tollgate.dev')).toEqual([]);
    expect(readConfig({ GATEWAY_DOMAIN: domain }).gatewayDomain).toBe(domain);
  });

  test.each(['Pay.com', 'pay.com.', '.pay.com', '*.pay.com', 'https://pay.com', 'pay.com:443', '10.0.0.1', 'pay'])(
    'cannot be %s',
    (domain) => {
      expect(problem(domain)).toHaveLength(1);
    },
  );

  test.each(['https://pay.com', 'https://console.pay.com', 'https://com.pay.com:8443'])(
    'cannot overlap with the public URL %s',
    (publicUrl) => {
      expect(problem('pay.com', publicUrl)).toHaveLength(1);
      expect(problem(`shops.${new URL(publicUrl).hostname}`, publicUrl)).toHaveLength(1);
    },
  );

  test('needs PUBLIC_URL in production', () => {
    expect(problem('pay.com', undefined, 'production')).toEqual(['GATEWAY_DOMAIN: requires PUBLIC_URL in production']);
  });
});

describe('OPERATORS', () => {
  const operatorsOf = (issuer: string) => ({ OPERATORS: JSON.stringify([{ issuer, subject: 'olga' }]) });
  const DEV = 'https://dev.tollgate.invalid';

  test('names people from trusted issuers, and nobody by default', () => {
    expect(readConfig(PRODUCTION).operators).toEqual([]);
    const { operators } = readConfig({ ...PRODUCTION, ...operatorsOf(ISSUER.issuer) });
    expect(operators).toEqual([{ issuer: ISSUER.issuer, subject: 'olga' }]);
  });

  test('can name people from the dev issuer only where that issuer is trusted', () => {
    expect(readConfig(operatorsOf(DEV)).operators).toHaveLength(1);
    const problem = `OPERATORS: ${DEV} isn't a trusted issuer`;
    expect(problemsOf({ ...PRODUCTION, ...operatorsOf(DEV) })).toEqual([problem]);
    expect(problemsOf({ AUTH_ISSUERS: PRODUCTION.AUTH_ISSUERS, ...operatorsOf(DEV) })).toEqual([problem]);
    expect(problemsOf({ ...PRODUCTION, AUTH_ISSUERS: undefined, ...operatorsOf(DEV) })).toContain(problem);
  });
});

test('the GraphQL explorer is off in production unless it is turned on', () => {
  expect(readConfig({}).graphqlExplorer).toBe(true);
  expect(readConfig({ GRAPHQL_EXPLORER: 'off' }).graphqlExplorer).toBe(false);
  expect(readConfig({ ...PRODUCTION }).graphqlExplorer).toBe(false);
  expect(readConfig({ ...PRODUCTION, GRAPHQL_EXPLORER: 'on' }).graphqlExplorer).toBe(true);
});

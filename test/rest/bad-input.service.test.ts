import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EVENT_TYPE_FILTERS } from '../../src/events/types.ts';
import { enumName } from '../../src/schema/scalars.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createConnector, createEndpoint, createProject, createWebhook, GOOD, WALLET } from '../support/resources.ts';
import { openRest, type Rest } from '../support/rest.ts';

const LONE_SURROGATE = '\ud800';
const SLACK_URL = GOOD.connector.config.webhookUrl;

/** Values that no text field accepts. */
const NOT_TEXT: unknown[] = [1, true, {}, [], ['x'], { toString: 'x' }];
const BROKEN_TEXT = ['a\0b', `a${LONE_SURROGATE}`, 'a\u0007b'];
const NO_URLS = [
  ...['', 'example.com', '/x', '//example.com', 'https:example.com', 'https://', 'https:///x', 'http://example.com'],
  ...['ftp://example.com', 'file:///etc/passwd', 'javascript:alert(1)', 'data:text/plain,x', 'ws://example.com'],
  ...['https://user:pass@example.com', 'https://user@example.com', 'https://example.com/#x', 'https://example.com:22/'],
  ...['https://example.com:99999/', 'https://10.0.0.1/', 'https://192.168.1.1/', 'https://169.254.169.254/'],
  ...['https://[::1]/', 'https://[fd00:ec2::254]/', 'https://localhost/', 'https://0x7f.1/', 'https://exa mple.com/'],
  ...['https://example.com/\n', 'https://example.com\\@evil.example/', 'https://example.com./', ` https://example.com`],
  `https://example.com/${'x'.repeat(2048)}`,
];
const NO_EVENT_TYPES: [unknown, pointer: string][] = [
  [[], '/eventTypes'],
  ['*', '/eventTypes'],
  [{}, '/eventTypes'],
  [null, '/eventTypes'],
  [['payment.nope'], '/eventTypes/0'],
  [['*', ''], '/eventTypes/1'],
  [['payment.settled', 'payment settled'], '/eventTypes/1'],
  [['PAYMENT_SETTLED'], '/eventTypes/0'],
  [[' *'], '/eventTypes/0'],
  [[null], '/eventTypes/0'],
  [[['*']], '/eventTypes/0'],
  [Array(51).fill('*'), '/eventTypes'],
];

type Kind = 'project' | 'endpoint' | 'webhook' | 'connector' | 'key';

/** Invalid values of each field. `pointer` is where the error must point, by default to the field itself. */
const WRONG: { kind: Kind; field: string; values: unknown[]; pointer?: string }[] = [
  { kind: 'project', field: 'name', values: ['', '   ', 'x'.repeat(201), '\n', ...BROKEN_TEXT, 'a\nb', ...NOT_TEXT] },
  {
    kind: 'project',
    field: 'walletAddress',
    values: [
      ...[
        '',
        'x',
        '0x',
        WALLET.slice(2),
        WALLET.slice(0, -1),
        `${WALLET}0`,
        ` ${WALLET}`,
        `${WALLET}\0`,
        'vitalik.eth',
      ],
      // A letter in the wrong case, an invalid hexadecimal digit, an uppercase prefix, and the zero address.
      ...[WALLET.replace('d8dA', 'D8dA'), WALLET.replace('d8', 'g8'), `0X${WALLET.slice(2)}`, `0x${'0'.repeat(40)}`],
      ...['bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq', `0x${'１'.repeat(40)}`, ...NOT_TEXT],
    ],
  },
  // `path.test.ts` has all the others.
  { kind: 'endpoint', field: 'path', values: ['/a//b', '/%2e%2e/a', 1] },
  {
    kind: 'endpoint',
    field: 'priceUsd',
    values: [
      ...['-1', '-0', '1e3', '0.0000001', '', '00.1', '01', '+1', '.5', '1.', '1,5', '1_000', '0x1', '$1'],
      ...['NaN', 'Infinity', ' 1', '1 ', '1\n', '１', '1000000000000', '9'.repeat(400), '1.0000000', ...NOT_TEXT, 0.01],
    ],
  },
  { kind: 'endpoint', field: 'upstreamUrl', values: [...NO_URLS, ...NOT_TEXT] },
  { kind: 'endpoint', field: 'description', values: ['x'.repeat(1001), ...BROKEN_TEXT, ...NOT_TEXT] },
  { kind: 'webhook', field: 'url', values: [...NO_URLS, ...NOT_TEXT] },
  { kind: 'webhook', field: 'description', values: ['x'.repeat(1001), ...BROKEN_TEXT, ...NOT_TEXT] },
  { kind: 'connector', field: 'config', values: [1, 'x', true, [], [{}]] },
  { kind: 'connector', field: 'config', values: [{ webhookUrl: SLACK_URL, colour: 1 }], pointer: '/config/colour' },
  {
    kind: 'connector',
    field: 'config',
    values: [
      ...[{ webhookUrl: '' }, { webhookUrl: 1 }, { webhookUrl: null }, { webhookUrl: [SLACK_URL] }],
      ...[{ webhookUrl: 'https://evil.example/x' }, { webhookUrl: `${SLACK_URL}\0` }],
      ...[{ webhookUrl: `${SLACK_URL}${LONE_SURROGATE}` }, { webhookUrl: SLACK_URL.replace('https', 'http') }],
    ],
    pointer: '/config/webhookUrl',
  },
  { kind: 'key', field: 'name', values: ['', ' ', 'x'.repeat(201), ...BROKEN_TEXT, ...NOT_TEXT] },
  { kind: 'key', field: 'environment', values: ['prod', '', 1, {}, ['LIVE']] },
  ...(['webhook', 'connector'] as const).flatMap((kind) =>
    NO_EVENT_TYPES.map(([value, pointer]) => ({ kind, field: 'eventTypes', values: [value], pointer })),
  ),
];

/** Values that are invalid only on creation. */
const WRONG_ON_CREATION: typeof WRONG = [
  { kind: 'connector', field: 'config', values: [{}], pointer: '/config/webhookUrl' },
  { kind: 'connector', field: 'type', values: ['', 'slak', 'slack ', 'nope', '*', '__proto__', 1, null, ['slack']] },
  ...Object.entries(GOOD).flatMap(([kind, body]) =>
    Object.keys(body).map((field) => ({ kind: kind as Kind, field, values: [undefined, null] })),
  ),
];
const WRONG_ON_CHANGE: typeof WRONG = [
  ...(['endpoint', 'webhook', 'connector'] as const).map((kind) => {
    return { kind, field: 'isActive', values: ['true', 1, null, {}, []] };
  }),
  { kind: 'connector', field: 'type', values: ['slack', 'discord'] },
  ...Object.entries({ ...GOOD, key: {} }).flatMap(([kind, body]) =>
    Object.keys(body).map((field) => ({ kind: kind as Kind, field, values: [null] })),
  ),
];

const TABLES = ['Project', 'Endpoint', 'ApiKey', 'Webhook', 'Connector', 'Event', 'Delivery', 'IdempotencyKey'];

let app: TestApp;
let rest: Rest;
let pool: pg.Pool;
let alice: TestUser;
let projectId: string;
let places: Record<Kind, { list: string; item: string; id: string }>;

beforeAll(async () => {
  // Loopback destinations are not allowed, as in production.
  app = await startTestApp({ env: { EGRESS_ALLOW: '' } });
  rest = await openRest(app);
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  alice = await app.user('alice', 'ENTERPRISE');
  const { base, id } = await createProject(alice);
  projectId = id;
  const made = {
    endpoint: await createEndpoint(alice, base),
    webhook: await createWebhook(alice, base, { url: 'https://hooks.example.com/x', eventTypes: ['payment.settled'] }),
    connector: await createConnector(alice, base),
  };
  const place = (list: string, item: string) => ({ list, item: `${list}/${item}`, id: item });
  places = {
    project: place('/api/projects', id),
    endpoint: place(`${base}/endpoints`, made.endpoint.id),
    webhook: place(`${base}/webhooks`, made.webhook.id),
    connector: place(`${base}/connectors`, made.connector.id),
    key: place(`${base}/keys`, ''),
  };
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});

/** Returns a hash of all rows. */
async function snapshot(): Promise<string> {
  const rows = TABLES.map(
    (table) => `(SELECT coalesce(string_agg(t::text, ';' ORDER BY t::text), '') FROM "${table}" t)`,
  );
  const { rows: found } = await pool.query(`SELECT md5(${rows.join(` || '|' || `)}) AS hash`);
  return found[0].hash;
}

async function expectRefused(method: 'POST' | 'PATCH', path: string, body: unknown, pointer: string): Promise<void> {
  const response = await rest.send(alice, method, path, { body });
  const label = `${JSON.stringify(body).slice(0, 300)} → ${response.text}`;
  expect([response.status, response.body.code], label).toEqual([422, 'VALIDATION_FAILED']);
  const pointers = (response.body.errors as { pointer: string }[]).map((error) => error.pointer);
  expect(pointers, label).toContain(pointer);
}

type Row = (typeof WRONG)[number];
const titled = (rows: Row[]) => rows.map((row) => ({ ...row, at: row.pointer ?? `/${row.field}` }));

describe('REST rejects an invalid value with a pointer to it, and writes nothing', () => {
  test.each(titled([...WRONG, ...WRONG_ON_CREATION]))('$kind, on creation: $field at $at', async (row) => {
    const before = await snapshot();
    for (const value of row.values) {
      await expectRefused('POST', places[row.kind].list, { ...GOOD[row.kind], [row.field]: value }, row.at);
    }
    expect(await snapshot()).toBe(before);
  });

  const changes = [...WRONG, ...WRONG_ON_CHANGE].filter(({ kind }) => kind !== 'key');
  test.each(titled(changes))('$kind, on a change: $field at $at', async (row) => {
    const before = await snapshot();
    for (const value of row.values) {
      await expectRefused('PATCH', places[row.kind].item, { [row.field]: value }, row.at);
    }
    expect(await snapshot()).toBe(before);
  });
});

describe('GraphQL rejects the same values with the same pointers and writes nothing', () => {
  const capital = (kind: Kind) =>
    ({ project: 'Project', endpoint: 'Endpoint', webhook: 'Webhook', connector: 'Connector', key: 'ApiKey' })[kind];

  /** Converts enum values to GraphQL names. Other values stay unchanged. */
  const spelled = (field: string, value: unknown) => {
    if (field !== 'eventTypes' || !Array.isArray(value)) return value;
    return value.map((item) => (EVENT_TYPE_FILTERS.includes(item) ? enumName(item) : item));
  };

  async function expectRefusedInGraphQL(mutation: string, input: object, pointer: string): Promise<void> {
    const type = `${mutation.slice(0, 1).toUpperCase()}${mutation.slice(1)}Input!`;
    const query = `mutation ($input: ${type}) { ${mutation}(input: $input) { __typename } }`;
    const { data, errors } = await alice.graphql(query, { input });
    const label = `${JSON.stringify(input).slice(0, 300)} → ${JSON.stringify(errors)}`;
    const { code, field, requestId } = errors?.[0]?.extensions ?? {};
    expect(['VALIDATION_FAILED', 'GRAPHQL_INVALID'], label).toContain(code);
    expect(requestId, label).toMatch(/^req_/);
    expect(Object.values(data ?? { none: null }), label).toEqual([null]);
    if (code === 'VALIDATION_FAILED') expect(field, label).toBe(pointer);
    // A value of the wrong type is rejected before validation, with the same field if the message names one.
    else if (!errors![0]!.message.includes('was not provided') && !errors![0]!.message.includes('is not defined')) {
      expect(field, label).toBe(pointer);
    }
  }

  test.each(titled([...WRONG, ...WRONG_ON_CREATION]))('$kind, on creation: $field at $at', async (row) => {
    const before = await snapshot();
    const good: Record<string, unknown> = { ...GOOD[row.kind], ...(row.kind !== 'project' && { projectId }) };
    if (good.eventTypes) good.eventTypes = ['ALL'];
    if (good.type) good.type = enumName(good.type as string);
    for (const value of row.values) {
      const input = { ...good, [row.field]: spelled(row.field, value) };
      if (Array.isArray(value) && value[0] === 'PAYMENT_SETTLED') continue;
      await expectRefusedInGraphQL(`create${capital(row.kind)}`, input, row.at);
    }
    expect(await snapshot()).toBe(before);
  });
});

describe('malformed IDs', () => {
  const IDS = [
    '',
    'x',
    'proj_',
    '\0',
    LONE_SURROGATE,
    'proj_01jc9x2v5qe3w8k4m6n7p9r0st\0',
    'x'.repeat(100_000),
    '🙂',
    "' OR 1=1",
  ];

  test.each(['project(id: $id) { id }', 'node(id: $id) { id }'])('are not found by %s', async (field) => {
    for (const id of IDS) {
      const { data, errors } = await alice.graphql(`query ($id: ID!) { ${field} }`, { id });
      const code = errors?.[0]?.extensions.code;
      expect(code === undefined || code === 'NOT_FOUND', JSON.stringify({ id: id.slice(0, 40), errors })).toBe(true);
      expect(Object.values(data ?? { none: null })).toEqual([null]);
    }
  });

  test('change nothing', async () => {
    for (const id of IDS) {
      const { errors } = await alice.graphql(
        'mutation ($id: ID!) { updateProject(input: { id: $id, name: "x" }) { project { id } } }',
        { id },
      );
      expect(errors?.[0]?.extensions.code).toBe('NOT_FOUND');
    }
  });
});

describe('an error about thousands of invalid fields lists the first 100 and counts the rest', () => {
  const MANY = 4_000;
  const names = Array.from({ length: MANY }, (_, index) => `upstreamUrl${index}`);
  const unknown = Object.fromEntries(names.map((name) => [name, 1]));

  test.each<[what: string, path: string, body: () => object, method?: string]>([
    ['unknown fields of a body', '/endpoints', () => ({ ...GOOD.endpoint, ...unknown })],
    [
      'unknown fields of a config',
      '/connectors',
      () => ({ ...GOOD.connector, config: { ...GOOD.connector.config, ...unknown } }),
    ],
    ['invalid values of a list', '/webhooks', () => ({ ...GOOD.webhook, eventTypes: names })],
  ])('%s', async (_what, path, body) => {
    const { base } = await createProject(alice);
    const response = await alice.rest<{ detail: string; errors: { message: string }[] }>('POST', base + path, body());
    expect(response.status).toBe(422);
    expect(response.body.errors).toHaveLength(100);
    expect(response.body.errors.every(({ message }) => message.length > 0)).toBe(true);
    expect(response.body.detail).toMatch(/See `errors` for the first 100 of 4,000 invalid fields\.$/);
  });
});

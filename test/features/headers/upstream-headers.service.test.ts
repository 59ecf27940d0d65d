import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { loadKeyring } from '../../../src/secrets/keyring.ts';
import { createSecretBox, type SecretBox } from '../../../src/secrets/secret-box.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createEndpoint, createKey, createProject, EVERY_SCOPE, type Resource } from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';

let app: TestApp;
let rest: Rest;
let pool: pg.Pool;
let secretBox: SecretBox;
let alice: TestUser;
let base: string;
let projectId: string;

beforeAll(async () => {
  app = await startTestApp();
  rest = await openRest(app);
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  secretBox = createSecretBox(await loadKeyring({ secretKeys: undefined, dataDir: app.dataDir }));
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});
beforeEach(async () => {
  ({ base, id: projectId } = await createProject(alice));
});

const send = (path: string, body: object, user = alice) => rest.send<Resource>(user, 'PATCH', path, { body });
const patch = (id: string, body: object, user = alice) => send(`${base}/endpoints/${id}`, body, user);
const read = async (path: string, user = alice) => (await rest.send<Resource>(user, 'GET', path)).body;
const pointersOf = (body: Record<string, unknown>) =>
  (body.errors as { pointer: string }[]).map(({ pointer }) => pointer);

/** Returns headers as the gateway uses them. */
async function stored(table: 'Endpoint' | 'Project', id: string): Promise<object[] | null> {
  const { rows } = await pool.query(`SELECT * FROM "${table}" WHERE id = $1`, [id]);
  const sealed: string | null = rows[0].secretUpstreamHeaders;
  expect(rows[0].upstreamHeaders === null).toBe(sealed === null);
  if (sealed === null) return null;
  const content = JSON.parse(secretBox.open(sealed, { table, column: 'secretUpstreamHeaders', rowId: id, projectId }));
  if (table === 'Project') return content;
  expect(content.upstreamUrl).toBe(rows[0].upstreamUrl);
  return content.headers;
}

async function auditOf(targetId: string) {
  const { data } = (await read(`${base}/audit-log`)) as unknown as { data: Resource[] };
  expect(JSON.stringify(data)).not.toMatch(/of-the-api|0123456789/);
  return data.filter((entry) => entry.targetId === targetId) as (Resource & Record<'changes' | 'previous', object>)[];
}

const KEY = { name: 'X-Api-Key', value: 'key-of-the-api' };
const STAGE = { name: 'X-Stage', value: 'test' };
const MASKED = [
  { name: 'X-Api-Key', value: '••••-api' },
  { name: 'X-Stage', value: '••••' },
];

describe('the upstream headers of an endpoint', () => {
  test('are an empty list at first, and nothing is stored', async () => {
    const endpoint = await createEndpoint(alice, base);
    expect(endpoint.upstreamHeaders).toEqual([]);
    expect(await stored('Endpoint', endpoint.id)).toBeNull();
    expect((await auditOf(endpoint.id))[0]!.changes).not.toHaveProperty('upstreamHeaders');
  });

  test('are masked when they are read, and encrypted in full', async () => {
    const endpoint = await createEndpoint(alice, base, { upstreamHeaders: [KEY, STAGE] });
    expect(endpoint.upstreamHeaders).toEqual(MASKED);
    expect((await read(`${base}/endpoints/${endpoint.id}`)).upstreamHeaders).toEqual(MASKED);
    const query = 'query ($id: ID!) { node(id: $id) { ... on Endpoint { upstreamHeaders { name value } } } }';
    const { data } = await alice.graphql(query, { id: endpoint.id });
    expect(data).toEqual({ node: { upstreamHeaders: MASKED } });
    expect(await stored('Endpoint', endpoint.id)).toEqual([KEY, STAGE]);
  });

  test('stay unchanged if they are omitted or their masks are sent back, regardless of case and order', async () => {
    const { id, upstreamUrl } = await createEndpoint(alice, base, { upstreamHeaders: [KEY, STAGE] });
    expect((await patch(id, { upstreamUrl, description: 'Mine' })).status).toBe(200);
    expect(await stored('Endpoint', id)).toEqual([KEY, STAGE]);
    const [key, stage] = MASKED;
    const changed = await patch(id, { upstreamHeaders: [stage, { ...key, name: 'x-api-key' }] });
    expect(changed.status).toBe(200);
    expect(await stored('Endpoint', id)).toEqual([STAGE, { ...KEY, name: 'x-api-key' }]);
  });

  test.each([[[]], [null]])('are removed by %j', async (upstreamHeaders) => {
    const { id } = await createEndpoint(alice, base, { upstreamHeaders: [KEY] });
    expect((await patch(id, { upstreamHeaders })).body.upstreamHeaders).toEqual([]);
    expect(await stored('Endpoint', id)).toBeNull();
  });

  test('can be set by an API key, which can’t read them', async () => {
    const { key } = await createKey(alice, base, EVERY_SCOPE);
    const caller = app.caller(key);
    const { id } = await createEndpoint(caller, base, { upstreamHeaders: [KEY] });
    expect((await read(`${base}/endpoints/${id}`, caller)).upstreamHeaders).toEqual([MASKED[0]]);
    expect((await patch(id, { upstreamHeaders: [...MASKED.slice(0, 1), STAGE] }, caller)).status).toBe(200);
    expect(await stored('Endpoint', id)).toEqual([KEY, STAGE]);
  });

  test('are in the audit log only with their masks, and a new value counts as a change', async () => {
    const { id } = await createEndpoint(alice, base, { upstreamHeaders: [KEY] });
    await patch(id, { upstreamHeaders: [{ ...KEY, value: 'another-key-of-the-api' }] });
    await patch(id, { description: 'Mine' });
    const [described, updated, created] = await auditOf(id);
    expect(created!.changes).toMatchObject({ upstreamHeaders: [MASKED[0]] });
    expect(updated).toMatchObject({
      changes: { upstreamHeaders: [MASKED[0]] },
      previous: { upstreamHeaders: [MASKED[0]] },
    });
    expect(described!.changes).toEqual({ description: 'Mine' });
  });

  test('aren’t in events', async () => {
    await createEndpoint(alice, base, { upstreamHeaders: [KEY] });
    const events = await read(`${base}/events`);
    expect(JSON.stringify(events)).toContain('endpoint.created');
    expect(JSON.stringify(events)).not.toMatch(/X-Api-Key|-api/i);
  });
});

describe('upstream headers that can’t be decrypted', () => {
  test.each(['Endpoint', 'Project'] as const)(
    'must be sent in full, and then replace the headers of the %s',
    async (table) => {
      const header = { ...KEY, ...(table === 'Project' && { urlPrefix: 'https://api.example.com' }) };
      const endpoint = await createEndpoint(alice, base, table === 'Endpoint' ? { upstreamHeaders: [header] } : {});
      await send(base, table === 'Project' ? { upstreamHeaders: [header] } : {});
      const [path, id] = table === 'Project' ? [base, projectId] : [`${base}/endpoints/${endpoint.id}`, endpoint.id];
      await pool.query(`UPDATE "${table}" SET "secretUpstreamHeaders" = "secretUpstreamHeaders" || 'x' WHERE id = $1`, [
        id,
      ]);
      const { upstreamHeaders } = await read(path);
      expect(upstreamHeaders).toMatchObject([MASKED[0]]);
      const { status, body } = await send(path, { upstreamHeaders });
      expect([status, pointersOf(body)]).toEqual([422, ['/upstreamHeaders/0/value']]);
      expect((await send(path, { upstreamHeaders: [header] })).status).toBe(200);
      expect(await stored(table, id)).toEqual([header]);
    },
  );
});

describe('a new upstream URL', () => {
  const ORIGINAL = 'https://api.example.com/weather?tenant=1';
  const create = () => createEndpoint(alice, base, { upstreamUrl: ORIGINAL, upstreamHeaders: [KEY, STAGE] });
  const again = (index: number) => ({
    pointer: `/upstreamHeaders/${index}/value`,
    message: 'Send this secret again in full: you are changing where it is sent (upstream URL).',
  });

  test.each([
    ['another host', 'https://collector.example/weather'],
    ['another port', 'https://api.example.com:8443/weather'],
    ['another path', 'https://api.example.com/tenants/2'],
    ['another query', 'https://api.example.com/weather?tenant=2'],
    ['a host that looks the same', 'https://api.example.com.collector.example/weather'],
  ])('requires every value again, in full, from users and API keys if it has %s', async (_what, upstreamUrl) => {
    const { key } = await createKey(alice, base, EVERY_SCOPE);
    const { id } = await create();
    for (const user of [alice, app.caller(key)]) {
      for (const body of [{ upstreamUrl }, { upstreamUrl, upstreamHeaders: MASKED }]) {
        const refused = await patch(id, body, user);
        expect(refused).toMatchObject({
          status: 422,
          body: { code: 'VALIDATION_FAILED', errors: [again(0), again(1)] },
        });
      }
      const partly = await patch(id, { upstreamUrl, upstreamHeaders: [KEY, MASKED[1]] }, user);
      expect(partly.body).toMatchObject({ errors: [again(1)] });
    }
    expect(await read(`${base}/endpoints/${id}`)).toMatchObject({ upstreamUrl: ORIGINAL });

    expect((await patch(id, { upstreamUrl, upstreamHeaders: [KEY, STAGE] })).body).toMatchObject({ upstreamUrl });
    expect(await stored('Endpoint', id)).toEqual([KEY, STAGE]);
  });

  test.each([
    ['/weather', '/weather/*', true],
    ['/weather', '/weather/:id', true],
    ['/weather/:id', '/weather/:id/debug', true],
    ['/weather/:id/debug', '/weather/:id', true],
    ['/weather/*', '/weather', true],
    ['/weather', '/climate', false],
    ['/weather/:id', '/climate/:id', false],
    ['/weather/*', '/*', false],
  ])(
    'requires every value again if it results from changing the path from %s to %s: %s',
    async (path, changed, isNeeded) => {
      const { id } = await createEndpoint(alice, base, { path, upstreamHeaders: [KEY] });
      const { status, body } = await patch(id, { path: changed });
      expect(status).toBe(isNeeded ? 422 : 200);
      const message = 'Send this secret again in full: you are changing where it is sent (path).';
      if (isNeeded) expect(body.errors).toEqual([{ pointer: '/upstreamHeaders/0/value', message }]);
      expect((await patch(id, { path: changed, upstreamHeaders: [KEY] })).status).toBe(200);
      expect(await stored('Endpoint', id)).toEqual([KEY]);
    },
  );

  test('is accepted without values if they are removed, or if there are none', async () => {
    const { id } = await create();
    expect((await patch(id, { upstreamUrl: 'https://a.example/', upstreamHeaders: [] })).status).toBe(200);
    expect((await patch(id, { upstreamUrl: 'https://b.example/' })).status).toBe(200);
    expect(await stored('Endpoint', id)).toBeNull();
  });

  test('counts as unchanged if an API key sends it back masked, and doesn’t require the values again', async () => {
    const { key } = await createKey(alice, base, EVERY_SCOPE);
    const caller = app.caller(key);
    const { id } = await create();
    const { upstreamUrl } = await read(`${base}/endpoints/${id}`, caller);
    expect(upstreamUrl).toBe('https://api.example.com/weather?tenant=••••');
    expect((await patch(id, { upstreamUrl, upstreamHeaders: MASKED }, caller)).status).toBe(200);
    expect(await stored('Endpoint', id)).toEqual([KEY, STAGE]);
  });
});

describe('what buyers can send along with stored headers', () => {
  const UPSTREAM = 'https://api.example.com/v1/orders';
  const create = (fields: object = {}) =>
    createEndpoint(alice, base, { upstreamUrl: UPSTREAM, methods: ['GET', 'POST'], ...fields });
  const keyWith = async (scopes?: string[]) => app.caller((await createKey(alice, base, scopes ? { scopes } : {})).key);
  const ofProject = (urlPrefix: string) => send(base, { upstreamHeaders: [{ ...KEY, urlPrefix }] });
  const WIDER: [field: string, change: object][] = [
    ['methods', { methods: ['DELETE', 'PUT'], priceUsd: '0' }],
    ['methods', { protocol: 'MCP' }],
    ['forwardedHeaders', { forwardedHeaders: ['x-kept', 'X-Account'] }],
    ['path', { path: '/orders/:id' }],
  ];

  test.each(['endpoint', 'project'])(
    'can’t be extended by an API key without CREDENTIALS if the headers are those of the %s',
    async (owner) => {
      if (owner === 'project') await ofProject('https://api.example.com/v1');
      const headers = owner === 'endpoint' ? { upstreamHeaders: [KEY] } : {};
      const { id } = await create({ path: '/orders', forwardedHeaders: ['x-kept'], ...headers });
      const key = await keyWith();
      const before = await read(`${base}/endpoints/${id}`);
      for (const [field, change] of WIDER) {
        const refused = await patch(id, change, key);
        expect(refused, JSON.stringify(change)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
        expect(refused.body.detail).toContain(
          `Changing \`${field}\` of an endpoint with upstream headers requires the scope CREDENTIALS`,
        );
      }
      expect(await read(`${base}/endpoints/${id}`)).toEqual(before);

      const less = { methods: ['GET'], forwardedHeaders: [], path: '/all-orders', priceUsd: '0.5' };
      expect((await patch(id, less, key)).status).toBe(200);
      const able = await keyWith(['READ', 'WRITE', 'CREDENTIALS']);
      const { path: _, ...more } = { ...less, methods: ['GET', 'DELETE'], forwardedHeaders: ['x-account'] };
      expect((await patch(id, more, able)).status).toBe(200);
      expect((await patch(id, { methods: ['GET', 'PUT'] })).status).toBe(200);
    },
  );

  test('can be extended by any API key if no stored header is sent', async () => {
    await ofProject('https://api.example.com/v2');
    const { id } = await create();
    const key = await keyWith();
    for (const [, change] of WIDER) expect((await patch(id, change, key)).status, JSON.stringify(change)).toBe(200);
  });
});

describe('the upstream headers of a project', () => {
  const HEADER = { ...KEY, urlPrefix: 'https://api.example.com/v1' };
  const SHOWN = { ...HEADER, value: '••••-api' };
  const set = (upstreamHeaders: object[] | null, user = alice) => send(base, { upstreamHeaders }, user);

  test('are an empty list at first', async () => {
    expect(await read(base)).toMatchObject({ upstreamHeaders: [] });
    expect(await stored('Project', projectId)).toBeNull();
  });

  test('are masked when they are read, and encrypted in full', async () => {
    const created = await createProject(alice, { upstreamHeaders: [{ ...HEADER, urlPrefix: `${HEADER.urlPrefix}/` }] });
    expect(created.upstreamHeaders).toEqual([SHOWN]);
    projectId = created.id;
    expect(await stored('Project', created.id)).toEqual([HEADER]);
    expect((await read(created.base)).upstreamHeaders).toEqual([SHOWN]);
    const { body } = await rest.send<{ data: Resource[] }>(alice, 'GET', '/api/projects');
    expect(body.data.find(({ id }) => id === created.id)!.upstreamHeaders).toEqual([SHOWN]);
  });

  test('keep their values if they are omitted or their masks are sent back, and are removed by null', async () => {
    await set([HEADER]);
    await send(base, { name: 'Renamed' });
    expect((await set([SHOWN, { ...STAGE, urlPrefix: 'https://b.example' }])).status).toBe(200);
    expect(await stored('Project', projectId)).toEqual([HEADER, { ...STAGE, urlPrefix: 'https://b.example' }]);
    expect((await set(null)).body.upstreamHeaders).toEqual([]);
    expect(await stored('Project', projectId)).toBeNull();
  });

  test('require their values again, in full, if their URL changes', async () => {
    await set([HEADER]);
    for (const urlPrefix of ['https://collector.example', 'https://api.example.com', 'https://api.example.com/v2']) {
      const { status, body } = await set([{ ...SHOWN, urlPrefix }]);
      expect([status, pointersOf(body)]).toEqual([422, ['/upstreamHeaders/0/value']]);
    }
    expect(await stored('Project', projectId)).toEqual([HEADER]);
  });

  test('can’t be changed by an API key, which sees them masked', async () => {
    const { key } = await createKey(alice, base, EVERY_SCOPE);
    const caller = app.caller(key);
    await set([{ ...HEADER, urlPrefix: 'https://api.example.com/v1/tenant-0123456789' }]);
    for (const upstreamHeaders of [[HEADER], [SHOWN], [], null]) {
      expect(await send(base, { upstreamHeaders }, caller)).toMatchObject({
        status: 403,
        body: { code: 'FORBIDDEN', detail: expect.stringContaining('a project’s `upstreamHeaders`') },
      });
    }
    expect((await send(base, { name: 'Renamed' }, caller)).body).toMatchObject({
      name: 'Renamed',
      upstreamHeaders: [{ ...SHOWN, urlPrefix: 'https://api.example.com/v1/••••' }],
    });
  });

  test('can have the same name for different URLs, but only once for each', async () => {
    const other = { ...HEADER, urlPrefix: 'https://api.example.com' };
    expect((await set([HEADER, other])).status).toBe(200);
    const { body } = await set([HEADER, { ...HEADER, name: 'x-api-key', urlPrefix: 'https://API.example.com/v1/' }]);
    expect(pointersOf(body)).toEqual(['/upstreamHeaders/1/name']);
  });

  test('are in the audit log only with their masks', async () => {
    await set([{ ...HEADER, urlPrefix: 'https://api.example.com/v1/tenant-0123456789' }]);
    await set([]);
    const masked = [{ ...SHOWN, urlPrefix: 'https://api.example.com/v1/••••' }];
    const [removed, added] = await auditOf(projectId);
    expect(added).toMatchObject({ changes: { upstreamHeaders: masked }, previous: { upstreamHeaders: null } });
    expect(removed).toMatchObject({ changes: { upstreamHeaders: null }, previous: { upstreamHeaders: masked } });
  });

  test.each<[string, object, string]>([
    ['its URL isn’t a web address', { urlPrefix: 'ftp://api.example.com' }, 'urlPrefix'],
    ['its URL is private', { urlPrefix: 'https://10.0.0.1' }, 'urlPrefix'],
    ['its URL has a query', { urlPrefix: 'https://api.example.com/?a=b' }, 'urlPrefix'],
    ['it has no URL', { urlPrefix: undefined }, 'urlPrefix'],
    ['its name isn’t allowed', { name: 'Host' }, 'name'],
    ['its value is masked', { value: '••••test' }, 'value'],
    ['it has an unknown field', { colour: 'red' }, 'colour'],
  ])('are rejected if one isn’t valid: %s', async (_reason, fields, field) => {
    const { status, body } = await set([{ ...HEADER, ...fields }]);
    expect([status, pointersOf(body)]).toEqual([422, [`/upstreamHeaders/0/${field}`]]);
  });
});

describe('an endpoint is rejected if', () => {
  test.each<[string, object[], string]>([
    ['a header is only for the connection', [KEY, { ...STAGE, name: 'Transfer-Encoding' }], '/1/name'],
    ['a header is part of the payment', [{ ...STAGE, name: 'X-PAYMENT' }], '/0/name'],
    ['a header is set by the gateway', [{ ...STAGE, name: 'X-Forwarded-For' }], '/0/name'],
    ['a header changes the path', [{ ...STAGE, name: 'X-Original-URL' }], '/0/name'],
    ['a header has a name that HTTP doesn’t allow', [{ ...STAGE, name: 'X Stage' }], '/0/name'],
    ['a header has a value that HTTP doesn’t allow', [{ ...STAGE, value: 'a\nb' }], '/0/value'],
    ['a header has no value', [{ name: 'X-Stage' }], '/0/value'],
    ['a header has an unknown field', [{ ...KEY, urlPrefix: 'https://api.example.com' }], '/0/urlPrefix'],
    ['a header has a masked value', [{ ...STAGE, value: '••••test' }], '/0/value'],
    ['two headers have the same name', [KEY, { ...STAGE, name: 'x-api-key' }], '/1/name'],
    ['there are 21 headers', Array.from({ length: 21 }, (_, n) => ({ name: `X-${n}`, value: 'v' })), ''],
    ['the headers have more than 8,192 bytes', [{ name: 'X-Key', value: 'v'.repeat(8_191) }], ''],
  ])('%s', async (_reason, upstreamHeaders, pointer) => {
    const body = { path: '/refused', upstreamUrl: 'https://api.example.com', priceUsd: '1', upstreamHeaders };
    const created = await rest.send(alice, 'POST', `${base}/endpoints`, { body });
    expect(created).toMatchObject({ status: 422, body: { code: 'VALIDATION_FAILED' } });
    expect(pointersOf(created.body)).toEqual([`/upstreamHeaders${pointer}`]);
    const { id } = await createEndpoint(alice, base);
    expect(pointersOf((await patch(id, { upstreamHeaders })).body)).toEqual([`/upstreamHeaders${pointer}`]);
    expect(await stored('Endpoint', id)).toBeNull();
  });
});

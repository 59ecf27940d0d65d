import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createEndpoint, createProject, createWebhook, GOOD, type Resource, WALLET } from '../support/resources.ts';
import { openRest, type Rest, type RestRequest } from '../support/rest.ts';

let app: TestApp;
let rest: Rest;
let alice: TestUser;

beforeAll(async () => {
  app = await startTestApp();
  rest = await openRest(app);
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(() => app?.stop());

const post = (request: RestRequest) => rest.send(alice, 'POST', '/api/projects', request);
const countProjects = async () =>
  (await rest.send<{ data: [] }>(alice, 'GET', '/api/projects?limit=100')).body.data.length;
const good = JSON.stringify(GOOD.project);
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const withUtf8 = (...bytes: number[]) =>
  Buffer.concat([Buffer.from('{"name":"'), Buffer.from(bytes), Buffer.from(`","walletAddress":"${WALLET}"}`)]);

describe('a malformed body is rejected and nothing is written', () => {
  const MALFORMED: [string, string | Buffer][] = [
    ['an unfinished object', '{"name":"x"'],
    ['a trailing comma', '{"name":"x",}'],
    ['a comment', '{} // x'],
    ['single quotes', "{'name':'x'}"],
    ['two values', '{}{}'],
    ['a bare word', 'name'],
    ['NaN', '{"name":NaN}'],
    ['only whitespace', '  \n '],
    ['a raw NUL byte', '{"name":"a\0b"}'],
    ['a raw line break in a string', '{"name":"a\nb"}'],
    ['a byte that starts no character', withUtf8(0xff)],
    ['a truncated character', withUtf8(0xe2, 0x82)],
    ['an overlong character', withUtf8(0xc0, 0xaf)],
    ['a surrogate in UTF-8', withUtf8(0xed, 0xa0, 0x80)],
    ['UTF-16', Buffer.from(good, 'utf16le')],
    ['nesting of 65 levels', nested(65)],
    ['nesting of 100,000 levels', nested(100_000)],
    ['100,000 open brackets', '['.repeat(100_000)],
    ['65 levels inside an object', `{"name":${nested(65)}}`],
  ];
  test.each(MALFORMED)('%s', async (_name, body) => {
    const before = await countProjects();
    const answer = await post({ body: typeof body === 'string' ? Buffer.from(body) : body });
    expect(answer).toMatchObject({ status: 400, body: { code: 'MALFORMED_JSON' } });
    expect(await countProjects()).toBe(before);
  });
});

test.each([
  ['{"name": "Shop",}', 'There is a mistake at line 1, column 17: expected a field name in double quotes.'],
  ['{"name": None}', 'There is a mistake at line 1, column 10: expected a value.'],
  ['{"name":', 'It ends too early.'],
])('the error for the malformed body %j says where the mistake is', async (body, place) => {
  const { body: problem } = await post({ body: Buffer.from(body) });
  expect(problem).toMatchObject({ detail: `The request body is not valid JSON. ${place}` });
});

describe('a body that is not a JSON object is rejected', () => {
  test.each(['[]', '"x"', '1', 'true', 'null', nested(64), '[{"name":"x"}]'])('%s', async (body) => {
    const answer = await post({ body: Buffer.from(body) });
    expect(answer).toMatchObject({ status: 422, body: { code: 'VALIDATION_FAILED', errors: [{ pointer: '' }] } });
  });

  test('a missing body', async () => {
    for (const request of [{}, { body: Buffer.alloc(0) }, { headers: { 'content-type': 'text/plain' } }]) {
      const answer = await post(request);
      expect([415, 422]).toContain(answer.status);
      if (answer.status === 422) expect(answer.body.errors).toMatchObject([{ pointer: '' }]);
    }
  });
});

describe('keys with a special meaning in JavaScript are ordinary fields', () => {
  test.each(['__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString', '', '\0', 'na~me/x'])(
    'an unknown field %j is rejected with a pointer to it',
    async (key) => {
      const before = await countProjects();
      const body = `{${JSON.stringify(key)}:{"name":"y"},${good.slice(1)}`;
      const answer = await post({ body });
      const pointer = `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer }] } });
      expect(await countProjects()).toBe(before);
      expect(({} as Record<string, unknown>).name).toBeUndefined();
    },
  );

  test('__proto__ inside a config is rejected with a pointer to it', async () => {
    const { base } = await createProject(alice);
    const config = JSON.stringify(GOOD.connector.config);
    const body = `{"type":"slack","eventTypes":["*"],"config":{"__proto__":{"webhookUrl":"x"},${config.slice(1)}}`;
    const answer = await rest.send(alice, 'POST', `${base}/connectors`, { body });
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer: '/config/__proto__' }] } });
  });

  test('if a field occurs twice, the last one counts', async () => {
    const answer = await post({ body: `{"name":"first",${good.slice(1, -1)},"name":"last"}` });
    expect(answer).toMatchObject({ status: 201, body: { name: 'last' } });
  });
});

describe('an equivalent request is accepted with', () => {
  test.each<[string, RestRequest]>([
    ['a byte order mark', { body: `\uFEFF${good}` }],
    ['whitespace around the body', { body: ` \r\n\t${good}\n` }],
    ['escapes', { body: good.replace('Shop', '\\u0053hop') }],
    ['a charset', { body: good, headers: { 'content-type': 'application/json; charset=utf-8' } }],
    ['the media type with different capitalization', { body: good, headers: { 'content-type': 'Application/JSON' } }],
    ['the identity encoding', { body: good, headers: { 'content-encoding': 'identity' } }],
  ])('%s', async (_name, request) => {
    expect(await post(request)).toMatchObject({ status: 201, body: { name: 'Shop' } });
  });
});

describe('an unsupported content type is rejected', () => {
  test.each([
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/vnd.api+json',
    'application/merge-patch+json',
    'application/graphql',
    'application/jsonp',
    'application/json, text/plain',
    ';',
    'json',
  ])('%s', async (type) => {
    const answer = await post({ body: good, headers: { 'content-type': type } });
    expect(answer).toMatchObject({ status: 415, body: { code: 'UNSUPPORTED_MEDIA_TYPE' } });
  });

  test('no content type', async () => {
    const body = new Blob([good]).stream();
    const init = { method: 'POST', body, duplex: 'half', headers: { authorization: `Bearer ${alice.token}` } };
    const response = await fetch(`${app.url}/api/projects`, init as RequestInit);
    const text = await response.text();
    rest.openapi.check({
      method: 'POST',
      path: '/api/projects',
      status: response.status,
      headers: response.headers,
      text,
    });
    expect(response.status).toBe(415);
  });

  test('a compressed body', async () => {
    const answer = await post({ body: gzipSync(good), headers: { 'content-encoding': 'gzip' } });
    expect(answer).toMatchObject({ status: 415, body: { code: 'UNSUPPORTED_MEDIA_TYPE' } });
  });
});

describe('a body that is too large is rejected', () => {
  const large = `{"name":"${'x'.repeat(10_000_000)}","walletAddress":"${WALLET}"}`;

  test('if its Content-Length says so', async () => {
    const before = await countProjects();
    expect(await post({ body: large })).toMatchObject({ status: 413, body: { code: 'PAYLOAD_TOO_LARGE' } });
    expect(await countProjects()).toBe(before);
  });

  test('if it is chunked', async () => {
    const init = {
      method: 'POST',
      body: new Blob([large]).stream(),
      duplex: 'half',
      headers: { authorization: `Bearer ${alice.token}`, 'content-type': 'application/json' },
    };
    const response = await fetch(`${app.url}/api/projects`, init as RequestInit);
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  });

  test('if there is no credential, with 401 and without reading it', async () => {
    const answer = await rest.send(undefined, 'POST', '/api/projects', { body: large });
    expect(answer.status).toBe(401);
  });

  test('only if it exceeds 256 KB', async () => {
    const ofSize = (bytes: number) => `{"name":"${'x'.repeat(bytes - 11)}"}`;
    expect((await post({ body: ofSize(256 * 1024) })).status).toBe(422);
    expect((await post({ body: ofSize(256 * 1024 + 1) })).status).toBe(413);
  });
});

describe('DELETE', () => {
  test.each<[string, RestRequest]>([
    ['without a body', {}],
    ['with a content type and no body', { headers: { 'content-type': 'application/json' } }],
    ['with an empty body', { body: Buffer.alloc(0) }],
    ['with an empty object', { body: {} }],
    ['with null', { body: null }],
  ])('%s deletes the project', async (_name, request) => {
    const { base } = await createProject(alice);
    expect((await rest.send(alice, 'DELETE', base, request)).status).toBe(204);
    expect((await rest.send(alice, 'GET', base)).status).toBe(404);
  });

  test.each<[string, number, RestRequest]>([
    ['with a field', 422, { body: { force: true } }],
    ['with the ID of another project', 422, { body: { id: 'proj_01jc9x2v5qe3w8k4m6n7p9r0st' } }],
    ['with a list', 422, { body: [] }],
    ['with a broken body', 400, { body: '{' }],
    ['with plain text', 415, { body: 'x', headers: { 'content-type': 'text/plain' } }],
  ])('%s deletes nothing', async (_name, status, request) => {
    const { base } = await createProject(alice);
    expect((await rest.send(alice, 'DELETE', base, request)).status).toBe(status);
    expect((await rest.send(alice, 'GET', base)).status).toBe(200);
  });
});

describe('an action without a required body', () => {
  let actions: Record<string, string>;
  let delivery: string;
  beforeAll(async () => {
    const { base } = await createProject(alice);
    const webhook = await createWebhook(alice, base);
    await rest.send(alice, 'PATCH', `${base}/webhooks/${webhook.id}`, { body: { isActive: false } });
    await createEndpoint(alice, base);
    const deliveries = await rest.send<{ data: Resource[] }>(alice, 'GET', `${base}/deliveries`);
    delivery = `${base}/deliveries/${deliveries.body.data[0]!.id}`;
    actions = {
      'rotate-secret': `${base}/webhooks/${webhook.id}/rotate-secret`,
      test: `${base}/webhooks/${webhook.id}/test`,
      resend: `${delivery}/resend`,
    };
  });

  // A delivery that is being sent cannot be resent.
  beforeEach(() => expect.poll(async () => (await rest.send(alice, 'GET', delivery)).body.status).toBe('SKIPPED'));

  describe.each(['rotate-secret', 'test', 'resend'])('%s', (name) => {
    test.each<[string, RestRequest]>([
      ['no body', {}],
      ['only a content type', { headers: { 'content-type': 'application/json' } }],
      ['an empty body', { body: Buffer.alloc(0) }],
      ['an empty object', { body: {} }],
      ['null', { body: null }],
    ])('accepts %s', async (_name, request) => {
      expect((await rest.send(alice, 'POST', actions[name]!, request)).status).toBe(200);
    });

    test.each<[string, number, RestRequest]>([
      ['an unknown field', 422, { body: { x: 1 } }],
      ['a field that is already in the path', 422, { body: { id: 'wh_01jc9x2v5qe3w8k4m6n7p9r0st' } }],
      ['a list', 422, { body: [] }],
      ['plain text', 415, { body: 'x', headers: { 'content-type': 'text/plain' } }],
    ])('rejects %s', async (_name, status, request) => {
      expect((await rest.send(alice, 'POST', actions[name]!, request)).status).toBe(status);
    });
  });
});

test('a body must not repeat fields from the path', async () => {
  const { base, id } = await createProject(alice);
  const answer = await rest.send(alice, 'POST', `${base}/endpoints`, { body: { ...GOOD.endpoint, projectId: id } });
  expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer: '/projectId' }] } });
  const patched = await rest.send(alice, 'PATCH', base, { body: { id, name: 'x' } });
  expect(patched).toMatchObject({ status: 422, body: { errors: [{ pointer: '/id' }] } });
});

test('all invalid values are reported together', async () => {
  const answer = await post({ body: { name: 1, walletAddress: null, colour: 'red', size: 2 } });
  const pointers = (answer.body.errors as { pointer: string }[]).map(({ pointer }) => pointer).sort();
  expect(pointers).toEqual(['/colour', '/name', '/size', '/walletAddress']);
});

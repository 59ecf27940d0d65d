import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { type RawResponse, sendRaw } from '../support/raw-http.ts';
import { createProject, createWebhook, GOOD } from '../support/resources.ts';
import { openRest, type Rest } from '../support/rest.ts';

let app: TestApp;
let rest: Rest;
let alice: TestUser;

beforeAll(async () => {
  app = await startTestApp();
  rest = await openRest(app);
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(() => app?.stop());

const good = JSON.stringify(GOOD.project);
const JSON_TYPE = 'Content-Type: application/json';

/** Returns a raw request with `Host` and the credential. */
function request(line: string, headers: string[] = [], body = ''): string {
  return `${[line, 'Host: tollgate.test', `Authorization: Bearer ${alice.token}`, ...headers].join('\r\n')}\r\n\r\n${body}`;
}

async function send(...chunks: string[]): Promise<RawResponse> {
  const answers = await sendRaw(app.url, chunks);
  return answers.at(-1)!;
}

const codeOf = ({ text }: RawResponse) => (JSON.parse(text) as { code: string }).code;

function expectProblem(answer: RawResponse, status: number): void {
  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
  const problem = JSON.parse(answer.text);
  expect(problem).toMatchObject({ status, requestId: answer.headers.get('x-request-id'), errors: [] });
  expect(Object.keys(problem).sort()).toEqual(
    ['code', 'detail', 'errors', 'instance', 'requestId', 'status', 'title', 'type'].sort(),
  );
}

describe('a request body', () => {
  const chunked = ['Transfer-Encoding: chunked', JSON_TYPE];

  test('is accepted in chunks of any size', async () => {
    const bytes = [...good].map((character) => `1\r\n${character}\r\n`).join('');
    const answer = await send(request('POST /api/projects HTTP/1.1', chunked), bytes, '0\r\n\r\n');
    expect(answer.status).toBe(201);
  });

  test('is accepted after 100 Continue', async () => {
    const headers = ['Expect: 100-continue', JSON_TYPE, `Content-Length: ${good.length}`];
    const answers = await sendRaw(app.url, [request('POST /api/projects HTTP/1.1', headers, good)]);
    expect(answers.map(({ status }) => status)).toEqual([100, 201]);
  });

  test('is accepted with an unknown expectation', async () => {
    const headers = ['Expect: the-best', JSON_TYPE, `Content-Length: ${good.length}`];
    expect((await send(request('POST /api/projects HTTP/1.1', headers, good))).status).toBe(201);
  });

  test('is rejected if it has an invalid chunk length', async () => {
    expectProblem(await send(request('POST /api/projects HTTP/1.1', chunked, 'zz\r\n{}\r\n0\r\n\r\n')), 400);
  });

  test('is rejected if it has two lengths', async () => {
    const both = [...chunked, 'Content-Length: 2'];
    expectProblem(await send(request('POST /api/projects HTTP/1.1', both, '2\r\n{}\r\n0\r\n\r\n')), 400);
    const twice = [JSON_TYPE, 'Content-Length: 2', 'Content-Length: 3'];
    expectProblem(await send(request('POST /api/projects HTTP/1.1', twice, '{}')), 400);
  });

  test.each(['-2', '2x', '0x2', '1e1', '99999999999999999999'])(
    'is rejected if it has the length %s',
    async (length) => {
      const headers = [JSON_TYPE, `Content-Length: ${length}`];
      const answer = await send(request('POST /api/projects HTTP/1.1', headers, '{}'));
      expect([400, 413]).toContain(answer.status);
    },
  );
});

describe('an invalid request is rejected with problem+json', () => {
  test.each<[string, () => string, number]>([
    ['garbage', () => 'garbage\r\n\r\n', 400],
    ['an unknown method', () => request('FOO /api/projects HTTP/1.1'), 400],
    ['another protocol version', () => request('GET /api/projects HTTP/3.0'), 400],
    ['an HTTP/2 preface', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['TLS', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['a raw character above ASCII in the path', () => request('GET /api/projects/\u00e9 HTTP/1.1'), 400],
    ['a raw NUL in the path', () => request('GET /api/projects/\0 HTTP/1.1'), 400],
    ['a header without a name', () => request('GET /api/projects HTTP/1.1', [': x']), 400],
    ['a folded header', () => request('GET /api/projects HTTP/1.1', ['A: b', ' c']), 400],
    ['a NUL in a header', () => request('GET /api/projects HTTP/1.1', ['A: b\0c']), 400],
    ['a path of 20 KB', () => request(`GET /${'a'.repeat(20_000)} HTTP/1.1`), 431],
    ['a header of 20 KB', () => request('GET /api/projects HTTP/1.1', [`A: ${'a'.repeat(20_000)}`]), 431],
    ['1,500 headers', () => request('GET /api/projects HTTP/1.1', Array(1_500).fill('A: 1234567890')), 431],
  ])('%s', async (_name, textOf, status) => {
    expectProblem(await send(textOf()), status);
  });

  test.each([
    ['no host', `GET /api/projects HTTP/1.1\r\n\r\n`],
    ['two hosts', `GET /api/projects HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n`],
    ['one host twice', `GET /api/projects HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n`],
  ])('%s', async (_name, text) => {
    const answer = await send(text);
    expectProblem(answer, 400);
    expect(codeOf(answer)).toBe('BAD_REQUEST');
  });

  test('but HTTP/1.0 needs no host', async () => {
    expect((await send('GET /api/projects HTTP/1.0\r\n\r\n')).status).toBe(401);
  });
});

describe('paths', () => {
  test.each([
    '/api',
    '/api/',
    '/api/nope',
    '//api/projects',
    '/api//projects',
    '/API/projects',
    '/api/projects;x=1',
    '/api/projects/a/b/c/d/e/f',
    '/api/projects%2F',
    '/api/./projects',
    '/api/x/../projects',
    '/nope',
    '/',
    '/favicon.ico',
    '/.env',
    '/graphqlx',
  ])('%s is not found', async (path) => {
    for (const method of ['GET', 'POST', 'DELETE', 'PUT']) {
      const answer = await send(
        request(`${method} ${path} HTTP/1.1`, ['Content-Length: 1', 'Content-Type: text/x'], '!'),
      );
      expectProblem(answer, 404);
    }
  });

  test('a path with a trailing slash is not found', async () => {
    expectProblem(await send(request('GET /api/projects/ HTTP/1.1')), 404);
    expectProblem(await send(request('DELETE /api/projects/ HTTP/1.1')), 404);
    expectProblem(await send(request('POST /api/projects/ HTTP/1.1')), 405);
  });

  test.each(['/api/projects/%', '/api/projects/%zz', '/api/projects/%ff', '/api/projects/%c0%af', '/%E0%A4%A'])(
    '%s cannot be decoded',
    async (path) => {
      expectProblem(await send(request(`GET ${path} HTTP/1.1`)), 400);
    },
  );

  test.each([
    ['NUL', '%00'],
    ['a line break', '%0d%0a'],
    ['a slash', '..%2F..%2Fetc%2Fpasswd'],
    ['dots', '..%2e'],
    ['a space', '%20'],
    ['an emoji', '%F0%9F%98%80'],
    ['a wildcard', '*'],
    ['SQL', "'%3B--"],
    ['201 characters', 'a'.repeat(201)],
    ['8 KB', 'a'.repeat(8_000)],
    ['a valid ID followed by NUL', 'proj_01jc9x2v5qe3w8k4m6n7p9r0st%00'],
    ['a valid ID in uppercase', 'PROJ_01JC9X2V5QE3W8K4M6N7P9R0ST'],
    ['an ID of another type', 'wh_01jc9x2v5qe3w8k4m6n7p9r0st'],
  ])('an ID with %s is not found', async (_name, id) => {
    const { base } = await createProject(alice);
    const list = await rest.send<{ data: unknown[] }>(alice, 'GET', '/api/projects?limit=100');
    for (const path of [
      `/api/projects/${id}`,
      `${base}/endpoints/${id}`,
      `${base}/webhooks/${id}`,
      `${base}/keys/${id}`,
    ]) {
      for (const method of ['GET', 'DELETE', 'PATCH']) {
        if (method === 'PATCH' && path.includes('/keys/')) continue;
        expectProblem(await send(request(`${method} ${path} HTTP/1.1`, [JSON_TYPE, 'Content-Length: 2'], '{}')), 404);
      }
    }
    const after = await rest.send<{ data: unknown[] }>(alice, 'GET', '/api/projects?limit=100');
    expect(after.body.data).toHaveLength(list.body.data.length);
  });

  test('an empty project ID does not match any project', async () => {
    const { base } = await createProject(alice);
    const { id } = await createWebhook(alice, base);
    for (const method of ['GET', 'DELETE']) {
      expectProblem(await send(request(`${method} /api/projects//webhooks/${id} HTTP/1.1`)), 404);
    }
    expect((await rest.send(alice, 'GET', `${base}/webhooks/${id}`)).status).toBe(200);
  });

  test('a percent-encoded ID is decoded', async () => {
    const { id } = await createProject(alice);
    const answer = await rest.send(alice, 'GET', `/api/projects/%70roj%5F${id.slice(5)}`);
    expect(answer).toMatchObject({ status: 200, body: { id } });
  });

  test('the absolute form of a request target is accepted', async () => {
    expect((await send(request('GET http://tollgate.test/api/projects HTTP/1.1'))).status).toBe(200);
  });
});

test('a connection stays open after rejected requests', async () => {
  const answers = await sendRaw(
    app.url,
    [
      request('GET /api/nope HTTP/1.1'),
      request('POST /api/projects HTTP/1.1', [JSON_TYPE, 'Content-Length: 2'], '[]'),
      request('PUT /api/projects HTTP/1.1', ['Content-Length: 3'], 'abc'),
      request('GET /api/projects HTTP/1.1'),
    ],
    4,
  );
  expect(answers.map(({ status }) => status)).toEqual([404, 422, 405, 200]);
});

describe('the request ID', () => {
  test('is returned in the header and the error if the caller sent one', async () => {
    const answer = await rest.send(alice, 'GET', '/api/nope', { headers: { 'x-request-id': 'abc-123.DEF_4' } });
    expect(answer.headers.get('x-request-id')).toBe('abc-123.DEF_4');
    expect(answer.body.requestId).toBe('abc-123.DEF_4');
  });

  test.each(['short', 'a'.repeat(65), 'with blank', '<script>alert(1)', 'ünicode-ünicode'])(
    '%j is replaced with a generated one',
    async (id) => {
      const answer = await send(request('GET /api/projects HTTP/1.1', [`X-Request-Id: ${id}`]));
      expect(answer.headers.get('x-request-id')).toMatch(/^req_[0-9a-f-]{36}$/);
    },
  );

  test('is also in GraphQL errors', async () => {
    const response = await fetch(`${app.url}/graphql`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${alice.token}`,
        'content-type': 'application/json',
        'x-request-id': 'graphql-request-1',
      },
      body: JSON.stringify({ query: 'mutation { deleteProject(input: { id: "x" }) { projectId } }' }),
    });
    const { errors } = (await response.json()) as { errors: { extensions: object }[] };
    expect(errors[0]!.extensions).toMatchObject({ code: 'NOT_FOUND', requestId: 'graphql-request-1' });
  });
});

test('responses tell browsers not to cache them and not to guess their type', async () => {
  for (const path of ['/api/projects', '/api/nope', '/api/projects/%zz']) {
    const answer = await rest.send(alice, 'GET', path);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  }
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { metricValue, readMetrics } from '../support/metrics.ts';
import { createProject } from '../support/resources.ts';

const ORIGIN = 'https://dashboard.example';
const WALLET = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
const MUTATION = `mutation { createProject(input: { name: "x", walletAddress: "${WALLET}" }) { project { id } } }`;

let app: TestApp;
let alice: TestUser;

beforeAll(async () => {
  app = await startTestApp({ env: { CORS_ORIGINS: ORIGIN } });
  alice = await app.user('alice', 'ENTERPRISE');
});

afterAll(() => app?.stop());

function ask(init: RequestInit & { headers?: Record<string, string> }, query = '') {
  return fetch(`${app.url}/graphql${query}`, {
    ...init,
    headers: { authorization: `Bearer ${alice.token}`, ...init.headers },
  });
}

describe('GraphQL over HTTP', () => {
  test.each([
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/plain',
    'application/graphql',
  ])('rejects %s, which another site could send without a preflight request', async (type) => {
    const response = await ask({ method: 'POST', headers: { 'content-type': type }, body: 'query={viewer{tier}}' });
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'UNSUPPORTED_MEDIA_TYPE' } }] });
  });

  test('allows queries by GET, but not mutations', async () => {
    const read = await ask(
      { headers: { accept: 'application/json' } },
      `?query=${encodeURIComponent('{ viewer { tier } }')}`,
    );
    expect(await read.json()).toMatchObject({ data: { viewer: { tier: 'ENTERPRISE' } } });
    const write = await ask({ headers: { accept: 'application/json' } }, `?query=${encodeURIComponent(MUTATION)}`);
    expect(write.status).toBe(405);
    const { body } = await alice.rest<{ data: unknown[] }>('GET', '/api/projects');
    expect(body.data).toEqual([]);
  });

  test.each(['variables', 'extensions'])('says where the JSON of the parameter `%s` breaks', async (name) => {
    const query = `?query=${encodeURIComponent('{ viewer { tier } }')}&${name}=${encodeURIComponent("{'a': 1}")}`;
    const response = await ask({ headers: { accept: 'application/json' } }, query);
    expect(response.status).toBe(400);
    const message = `The parameter \`${name}\` is not valid JSON. There is a mistake at line 1, column 2: expected a field name in double quotes.`;
    const extensions = { code: 'MALFORMED_JSON', type: '/docs/errors#malformed_json', retryable: false };
    expect(await response.json()).toMatchObject({ errors: [{ message, extensions }] });
  });

  test('rejects a batch', async () => {
    const response = await ask({
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([{ query: '{ viewer { tier } }' }]),
    });
    expect(response.status).toBe(400);
    const { errors } = (await response.json()) as { errors: { extensions: Record<string, unknown> }[] };
    expect(errors[0]!.extensions).toMatchObject({
      code: 'BAD_REQUEST',
      retryable: false,
      requestId: expect.any(String),
    });
  });

  test.each(['', 'null', '"x"', '1', '{}'])('explains that the body %j has no document', async (body) => {
    const response = await ask({ method: 'POST', headers: { 'content-type': 'application/json' }, body });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      errors: [{ message: expect.stringContaining('document in `query`'), extensions: { code: 'BAD_REQUEST' } }],
    });
  });

  test('returns 406 if the caller accepts no supported media type', async () => {
    const response = await ask({
      method: 'POST',
      headers: { accept: 'image/png', 'content-type': 'application/json' },
      body: JSON.stringify({ query: '{ viewer { tier } }' }),
    });
    expect(response.status).toBe(406);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'NOT_ACCEPTABLE' } }] });
  });

  test('does not show the schema without a credential', async () => {
    const response = await fetch(`${app.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: '{ __schema { types { name } } }' }),
    });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer /);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] });
  });

  test('returns 405 and lists the allowed methods if the method is not supported', async () => {
    const response = await ask({ method: 'DELETE' });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD, POST');
  });
});

describe('a page on another origin', () => {
  const preflight = (origin: string) =>
    fetch(`${app.url}/graphql`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      },
    });

  test('is allowed, without cookies, if its origin is in CORS_ORIGINS', async () => {
    const response = await preflight(ORIGIN);
    expect(response.headers.get('access-control-allow-origin')).toBe(ORIGIN);
    expect(response.headers.get('access-control-allow-credentials')).toBeNull();
  });

  test('is not allowed if its origin is not in CORS_ORIGINS', async () => {
    const response = await preflight('https://evil.example');
    expect(response.headers.get('access-control-allow-origin')).not.toBe('https://evil.example');
    expect(response.headers.get('access-control-allow-origin')).not.toBe('*');
  });
});

test('the explorer page loads no scripts or styles from other hosts', async () => {
  const response = await fetch(`${app.url}/graphql`, { headers: { accept: 'text/html' } });
  expect(response.status).toBe(200);
  const html = await response.text();
  expect(html).toContain('Tollgate GraphQL');
  const loaded = [...html.matchAll(/<(?:script|link|img)[^>]+(?:src|href)="([^"]+)"/g)].map(([, target]) => target!);
  expect(loaded.filter((target) => /^(https?:)?\/\//.test(target))).toEqual([]);
});

describe('a subscription', () => {
  const openStreams = async () => metricValue(await readMetrics(app.url), 'tollgate_live_streams');

  async function subscribe(accept: string, signal?: AbortSignal) {
    const { id } = await createProject(alice);
    const body = JSON.stringify({ query: `subscription { eventRecorded(projectId: "${id}") { cursor } }` });
    return ask({
      method: 'POST',
      headers: { accept, 'content-type': 'application/json' },
      body,
      signal: signal ?? null,
    });
  }

  test('counts as an open stream when it uses server-sent events', async () => {
    const client = new AbortController();
    const { status } = await subscribe('text/event-stream', client.signal);
    expect(status).toBe(200);
    await expect.poll(openStreams).toBe(1);
    client.abort();
    await expect.poll(openStreams).toBe(0);
  });

  test('returns 406 for a multipart response, and leaves no stream open', async () => {
    const response = await subscribe('multipart/mixed');
    expect(response.status).toBe(406);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'NOT_ACCEPTABLE' } }] });
    await expect.poll(openStreams).toBe(0);
  });
});

import { createClient, NetworkError } from 'graphql-sse';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { countStreams } from '../graphql/numbers.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';

const WALLET = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
const SUBSCRIPTION = 'subscription ($id: ID!) { eventRecorded(projectId: $id) { cursor event { id type } } }';
const WAIT = { timeout: 60_000 };

let app: TestApp;
let alice: TestUser;
let projectId: string;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  alice = await app.user('alice', 'ENTERPRISE');
  const project = { name: 'Shop', walletAddress: WALLET };
  projectId = (await alice.rest<{ id: string }>('POST', '/api/projects', project)).body.id;
});

afterEach(() => expect.poll(() => countStreams(app), WAIT).toBe(0));
afterAll(() => app?.stop());

let paths = 0;
async function createEndpoint(): Promise<string> {
  const body = { path: `/path-${++paths}`, upstreamUrl: 'https://api.example.com', priceUsd: '0.01' };
  return (await alice.rest<{ id: string }>('POST', `/api/projects/${projectId}/endpoints`, body)).body.id;
}

type RequestOptions = { query?: string; variables?: unknown; token?: string; accept?: string; method?: 'GET' | 'POST' };

/** Sends a request as a client in distinct connections mode does. */
function request(options: RequestOptions = {}): Promise<Response> {
  const { query = SUBSCRIPTION, variables = { id: projectId }, token = alice.token, method = 'POST' } = options;
  const headers = {
    accept: options.accept ?? 'text/event-stream',
    ...(token && { authorization: `Bearer ${token}` }),
  };
  if (method === 'GET') {
    const parameters = new URLSearchParams({ query, variables: JSON.stringify(variables) });
    return fetch(`${app.url}/graphql?${parameters}`, { headers });
  }
  return fetch(`${app.url}/graphql`, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  });
}

type StreamEvent = { event: string; data: unknown };

/** Yields the events of a stream. Comments are left out. */
async function* eventsOf(response: Response): AsyncGenerator<StreamEvent, void> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body!) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const fields = new Map(text.slice(0, end).split('\n').map(fieldOf));
      text = text.slice(end + 2);
      const data = fields.get('data');
      if (fields.has('event')) yield { event: fields.get('event')!, data: data ? JSON.parse(data) : undefined };
    }
  }
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}

async function all(response: Response): Promise<StreamEvent[]> {
  return Array.fromAsync(eventsOf(response));
}

describe('distinct connections mode', () => {
  test('a query gets one next event and then a complete event', async () => {
    const response = await request({ query: '{ viewer { tier } }' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(await all(response)).toEqual([
      { event: 'next', data: { data: { viewer: { tier: 'ENTERPRISE' } }, extensions: { cost: expect.any(Object) } } },
      { event: 'complete', data: undefined },
    ]);
  });

  test.each(['POST', 'GET'] as const)(
    'a subscription by %s streams events as soon as the response starts',
    async (method) => {
      const response = await request({ method });
      await createEndpoint();
      for await (const event of eventsOf(response)) {
        const data = { eventRecorded: { cursor: expect.any(String), event: { type: 'ENDPOINT_CREATED' } } };
        expect(event).toMatchObject({ event: 'next', data: { data } });
        break;
      }
    },
  );

  test('a subscription that accepts any media type is also streamed', async () => {
    const response = await request({ accept: '*/*' });
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(await countStreams(app)).toBe(1);
    await response.body?.cancel();
  });

  test.each([['application/json'], ['multipart/mixed']])(
    "a subscription that accepts only %s isn't streamed",
    async (accept) => {
      const response = await request({ accept });
      expect(response.status).toBe(406);
      await response.body?.cancel();
    },
  );

  test('the stream is neither buffered nor cached', async () => {
    const response = await request();
    expect(response.headers.get('cache-control')).toMatch(/no-cache|no-store/);
    expect(response.headers.get('content-encoding') ?? 'none').toBe('none');
    await response.body?.cancel();
  });

  test('comments keep a silent stream alive', async () => {
    const response = await request();
    const reader = response.body!.getReader();
    const { value } = await reader.read();
    expect(new TextDecoder().decode(value)).toMatch(/^:\n\n/);
    await reader.cancel();
  });

  test('a client that disconnects ends the subscription immediately, even without events', async () => {
    const response = await request();
    expect(await countStreams(app)).toBe(1);
    await response.body?.cancel();
    await expect.poll(() => countStreams(app), WAIT).toBe(0);
  });

  test('document errors are sent in a next event with a code, followed by a complete event', async () => {
    const [next, complete] = await all(await request({ query: 'subscription { nothing }' }));
    expect(next).toMatchObject({
      event: 'next',
      data: { errors: [{ extensions: { code: 'GRAPHQL_INVALID', requestId: expect.stringMatching(/^req_/) } }] },
    });
    expect(complete).toEqual({ event: 'complete', data: undefined });
  });

  test.each([
    ["another user's project", { id: 'proj_01jc9x2v5qe3w8k4m6n7p9r0st' }, { code: 'NOT_FOUND' }],
    ['an id that is not a project id', { id: 'x' }, { code: 'NOT_FOUND' }],
  ])('%s is an error with a code', async (_name, variables, extensions) => {
    const [next] = await all(await request({ variables }));
    expect(next).toMatchObject({ event: 'next', data: { errors: [{ extensions }] } });
  });
});

describe("graphql-sse's own client", () => {
  const client = (token = alice.token) =>
    createClient({ url: `${app.url}/graphql`, retryAttempts: 0, headers: { authorization: `Bearer ${token}` } });

  test('gets events in order', async () => {
    // A stream is counted before it has a place in the feed. It has one as soon as the response starts.
    const connected = Promise.withResolvers<void>();
    const results = client().iterate(
      { query: SUBSCRIPTION, variables: { id: projectId } },
      { connected: () => connected.resolve() },
    );
    const seen: unknown[] = [];
    const made = (async () => {
      await connected.promise;
      for (let index = 0; index < 5; index++) await createEndpoint();
    })();
    for await (const { data } of results) {
      seen.push((data!.eventRecorded as { event: { id: string } }).event.id);
      if (seen.length === 5) break;
    }
    await made;
    expect(new Set(seen).size).toBe(5);
    expect(seen).toEqual([...seen].sort());
  });

  test('runs queries and mutations', async () => {
    const { value } = await client().iterate({ query: '{ viewer { tier } }' }).next();
    expect(value).toMatchObject({ data: { viewer: { tier: 'ENTERPRISE' } } });
  });

  test('reports rejected credentials as a 401', async () => {
    const results = client('nonsense').iterate({ query: '{ __typename }' });
    const error = await results.next().catch((thrown) => thrown);
    expect(error).toBeInstanceOf(NetworkError);
    expect(error.response.status).toBe(401);
  });
});

describe('credentials and limits', () => {
  test.each([
    ['no credential', ''],
    ['an invalid credential', 'nonsense'],
  ])('%s is rejected with 401 before anything is streamed', async (_name, token) => {
    const response = await request({ token });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] });
  });

  test('the stream ends when the token expires', async () => {
    const open = async (expiresInSeconds: number) =>
      request({ token: await app.issuer.sign({ subject: 'alice', tier: 'ENTERPRISE', expiresInSeconds }) });
    let response = await open(2);
    // On a slow machine, the token can expire before the stream opens.
    if (response.status !== 200) response = await open(30);
    expect(response.status).toBe(200);
    await expect(all(response)).rejects.toThrow();
  });

  test('the stream ends when the API key is revoked', async () => {
    const keys = `/api/projects/${projectId}/keys`;
    const { body } = await alice.rest<{ id: string; key: string }>('POST', keys, { name: 'Short-lived' });
    const response = await request({ token: body.key });
    const ended = expect(all(response)).rejects.toThrow();
    await alice.rest('DELETE', `${keys}/${body.id}`);
    await ended;
    expect((await request({ token: body.key })).status).toBe(401);
  });

  test("the 51st stream of an account is rejected with 429 and doesn't run", async () => {
    const streams = await Promise.all(Array.from({ length: 50 }, () => request()));
    const mutation = `mutation { createProject(input: { name: "Never", walletAddress: "${WALLET}" }) { project { id } } }`;
    for (const refused of [request(), request({ accept: '*/*' }), request({ query: mutation })]) {
      const response = await refused;
      expect(response.status).toBe(429);
      expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'RATE_LIMITED' } }] });
    }
    expect((await request({ query: '{ __typename }', accept: 'application/json' })).status).toBe(200);
    const { body } = await alice.rest<{ data: { name: string }[] }>('GET', '/api/projects');
    expect(body.data.map(({ name }) => name)).not.toContain('Never');
    await Promise.all(streams.map((stream) => stream.body?.cancel()));
  });
});

test('the service ends its open streams when it stops', async () => {
  const other = await startTestApp({ databaseUrl: app.databaseUrl, dataDir: app.dataDir, env: { ROLES: 'api' } });
  const response = await fetch(`${other.url}/graphql`, {
    method: 'POST',
    headers: {
      accept: 'text/event-stream',
      'content-type': 'application/json',
      authorization: `Bearer ${alice.token}`,
    },
    body: JSON.stringify({ query: SUBSCRIPTION, variables: { id: projectId } }),
  });
  const ended = expect(all(response)).rejects.toThrow();
  await other.stop();
  await ended;
});

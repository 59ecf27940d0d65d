import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createIdempotencyStore, type StoredResponse } from '../../src/features/idempotency/store.ts';
import { loadKeyring } from '../../src/secrets/keyring.ts';
import { createSecretBox } from '../../src/secrets/secret-box.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { join, person } from '../support/members.ts';
import { createEndpoint, createKey, createProject, createWebhook, GOOD, type Resource } from '../support/resources.ts';
import { connectSocket } from './socket-client.ts';

let app: TestApp;
let pool: pg.Pool;
let alice: TestUser;
let project: { id: string; base: string };

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});
beforeEach(async () => {
  project = await createProject(alice);
});

let keys = 0;
const newKey = () => `key-${++keys}`;

type TestResponse = {
  status: number;
  text: string;
  replayed: string | null;
  body: { data?: object; errors?: object[] };
};

type SendOptions = { as?: TestUser; variables?: object; accept?: string; contentType?: string; more?: object };

async function send(query: string, key: string, options: SendOptions = {}) {
  const { as = alice, variables, accept, contentType = 'application/json', more } = options;
  const response = await fetch(`${app.url}/graphql`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${as.token}`,
      'content-type': contentType,
      'idempotency-key': key,
      ...(accept && { accept }),
    },
    body: JSON.stringify({ query, variables, ...more }),
  });
  const text = await response.text();
  const replayed = response.headers.get('idempotency-replayed');
  return { status: response.status, text, replayed, body: JSON.parse(text) } as TestResponse;
}

const creation = (alias = 'one', url = GOOD.webhook.url) =>
  `${alias}: createWebhook(input: { projectId: "${project.id}", url: "${url}", eventTypes: [ALL] }) { webhook { id } secret }`;
const CREATE = 'mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { webhook { id } secret } }';
const input = (description = '') => ({
  input: { projectId: project.id, url: GOOD.webhook.url, eventTypes: ['ALL'], description },
});
const count = async () => (await pool.query('SELECT 1 FROM "Webhook" WHERE "projectId" = $1', [project.id])).rowCount;

describe('a mutation that is sent again with the same Idempotency-Key', () => {
  test('returns the original response, including secrets, and changes nothing', async () => {
    const key = newKey();
    const first = await send(CREATE, key, { variables: input() });
    expect(first).toMatchObject({ status: 200, replayed: null });
    expect(first.text).toContain('whsec_');
    for (let time = 0; time < 3; time++) {
      expect(await send(CREATE, key, { variables: input() })).toEqual({ ...first, replayed: 'true' });
    }
    expect(await count()).toBe(1);
  });

  test('returns the original response even if only some of the mutations in the document succeeded', async () => {
    const key = newKey();
    const document = `mutation { ${creation('good')} ${creation('bad', 'ftp://x')} }`;
    const first = await send(document, key);
    expect(first.body).toMatchObject({ data: { good: { secret: expect.any(String) }, bad: null }, errors: [{}] });
    expect(await send(document, key)).toEqual({ ...first, replayed: 'true' });
    expect(await count()).toBe(1);
  });

  test.each<[string, () => Promise<TestResponse>]>([
    ['other variables', () => send(CREATE, `key-${keys}`, { variables: input('other') })],
    ['another document', () => send(`mutation { ${creation()} }`, `key-${keys}`)],
    [
      'another type of response',
      () => send(CREATE, `key-${keys}`, { variables: input(), accept: 'application/graphql-response+json' }),
    ],
  ])('is rejected if it has %s', async (_what, again) => {
    await send(CREATE, newKey(), { variables: input() });
    expect(await again()).toMatchObject({
      status: 422,
      body: { errors: [{ extensions: { code: 'IDEMPOTENCY_KEY_REUSED' } }] },
    });
    expect(await count()).toBe(1);
  });

  test('is rejected if a REST request used the key, and vice versa', async () => {
    const rest = (key: string) =>
      fetch(`${app.url}${project.base}/webhooks`, {
        method: 'POST',
        headers: { authorization: `Bearer ${alice.token}`, 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify(GOOD.webhook),
      });
    const [restFirst, graphqlFirst] = [newKey(), newKey()];
    expect((await rest(restFirst)).status).toBe(201);
    expect((await send(CREATE, restFirst, { variables: input() })).status).toBe(422);
    expect((await send(CREATE, graphqlFirst, { variables: input() })).status).toBe(200);
    expect((await rest(graphqlFirst)).status).toBe(422);
    expect(await count()).toBe(2);
  });

  test('runs again if nothing was changed, because it was invalid', async () => {
    const key = newKey();
    const refused = await send(CREATE, key, { variables: { input: { ...input().input, url: 'ftp://x' } } });
    expect(refused.body).toMatchObject({ errors: [{ extensions: { code: 'VALIDATION_FAILED' } }] });
    expect((await send('mutation { createWebhok }', key)).body).toMatchObject({ errors: [{}] });
    expect(await send(CREATE, key, { variables: input() })).toMatchObject({ status: 200, replayed: null });
    expect(await count()).toBe(1);
  });

  test('returns the original response if the mutation succeeded, but a field of its result was invalid', async () => {
    const key = newKey();
    const document = `mutation { ${creation().replace('{ id }', '{ id deliveries(first: 500) { nodes { id } } }')} }`;
    const first = await send(document, key);
    expect(first.body).toMatchObject({ data: { one: null }, errors: [{ extensions: { code: 'VALIDATION_FAILED' } }] });
    expect(await send(document, key)).toEqual({ ...first, replayed: 'true' });
    expect(await count()).toBe(1);
  });

  test('runs again if nothing was changed, although the document also asks for the type of the root', async () => {
    const key = newKey();
    const document = `mutation { __typename ${creation('one', 'ftp://x')} }`;
    for (let time = 0; time < 2; time++) {
      expect(await send(document, key)).toMatchObject({ replayed: null, body: { data: { one: null }, errors: [{}] } });
    }
  });

  test('returns the original response if text in it only looks like the ID of a project', async () => {
    const key = newKey();
    const variables = input('copied from proj_alpha');
    const first = await send(CREATE, key, { variables });
    expect(await send(CREATE, key, { variables })).toEqual({ ...first, replayed: 'true' });
  });

  test('returns the original response although its text mentions a project that the caller can’t see', async () => {
    const stranger = await createProject(await app.user('stranger', 'ENTERPRISE'));
    const apiKey = app.caller((await createKey(alice, project.base, { scopes: ['READ', 'WRITE', 'CREDENTIALS'] })).key);
    const variables = input(`moved from ${stranger.id}`);
    for (const as of [alice, apiKey]) {
      const key = newKey();
      const document = CREATE.replace('{ id }', '{ id description }');
      const first = await send(document, key, { variables, as });
      expect(first.text).toContain(stranger.id);
      expect(await send(document, key, { variables, as })).toEqual({ ...first, replayed: 'true' });
    }
    expect(await count()).toBe(2);
  });

  test('returns nothing to a person who no longer has the project, even if nothing in it names the project', async () => {
    const { id } = await createWebhook(alice, project.base);
    const document = `mutation { rotateWebhookSecret(input: { id: "${id}" }) { secret } }`;
    const key = newKey();
    expect((await send(document, key)).text).toContain('whsec_');
    const other = await createProject(await app.user('buyer', 'ENTERPRISE'));
    const give = 'UPDATE "Project" SET "userId" = (SELECT "userId" FROM "Project" WHERE "id" = $2) WHERE "id" = $1';
    await pool.query(give, [project.id, other.id]);
    const retry = await send(document, key);
    expect(retry.text).toContain('NOT_FOUND');
    expect(retry.text).not.toContain('whsec_');
  });

  test.each<[string, SendOptions]>([
    ['an uppercase content type', { contentType: 'Application/JSON' }],
    ['another field that is null', { more: { id: null } }],
    [
      'a header that also accepts streams',
      {
        accept:
          'application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed',
      },
    ],
  ])('returns the original response if both have %s', async (_what, options) => {
    const key = newKey();
    const first = await send(CREATE, key, { variables: input(), ...options });
    expect(first.status).toBe(200);
    expect(await send(CREATE, key, { variables: input(), ...options })).toEqual({ ...first, replayed: 'true' });
    expect(await count()).toBe(1);
  });

  test('runs only once if twenty are sent at the same time, and the rest get 409 or the same response', async () => {
    const key = newKey();
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(CREATE, key, { variables: input() })));
    const done = answers.filter(({ status }) => status === 200);
    expect(new Set(done.map(({ text }) => text)).size).toBe(1);
    expect(done.filter(({ replayed }) => replayed === null)).toHaveLength(1);
    for (const { status, body } of answers.filter((answer) => !done.includes(answer))) {
      expect([status, body]).toMatchObject([409, { errors: [{ extensions: { code: 'IDEMPOTENCY_IN_FLIGHT' } }] }]);
    }
    expect(await count()).toBe(1);
  });

  test('is not shared with API keys or other people', async () => {
    const key = newKey();
    const first = await send(CREATE, key, { variables: input() });
    const apiKey = app.caller((await createKey(alice, project.base, { scopes: ['READ', 'WRITE', 'CREDENTIALS'] })).key);
    const byKey = await send(CREATE, key, { variables: input(), as: apiKey });
    expect(byKey).toMatchObject({ status: 200, replayed: null });
    expect(byKey.text).not.toBe(first.text);
    const bob = await app.user('bob', 'ENTERPRISE');
    expect((await send(CREATE, key, { variables: input(), as: bob })).text).not.toContain('whsec_');
  });

  test('returns nothing to someone who was removed from the project, or whose role has changed', async () => {
    const [removed, demoted] = [await person(app, 'removed', 'ENTERPRISE'), await person(app, 'demoted', 'ENTERPRISE')];
    const members = [
      await join(alice, project.base, removed, 'ADMIN'),
      await join(alice, project.base, demoted, 'ADMIN'),
    ];
    const key = newKey();
    for (const as of [removed, demoted]) expect((await send(CREATE, key, { variables: input(), as })).status).toBe(200);
    await alice.rest('DELETE', `${project.base}/members/${members[0]!.id}`);
    await alice.rest('PATCH', `${project.base}/members/${members[1]!.id}`, { role: 'VIEWER' });
    for (const as of [removed, demoted]) {
      const { text } = await send(CREATE, key, { variables: input(), as });
      expect(text).toMatch(/FORBIDDEN|NOT_FOUND/);
      expect(text).not.toContain('whsec_');
    }
  });

  test.each<[string, (projectId: string, webhookId: string) => Pick<SendOptions, 'variables'> & { document: string }]>([
    [
      'allows the request',
      (projectId) => ({ document: CREATE, variables: { input: { ...input().input, projectId } } }),
    ],
    [
      'allows the request, which doesn’t name the project',
      (_, id) => ({ document: `mutation { rotateWebhookSecret(input: { id: "${id}" }) { secret } }` }),
    ],
  ])('returns nothing to a former owner whose role no longer %s', async (_what, requestOf) => {
    const number = ++keys;
    const former = await person(app, `former${number}`, 'ENTERPRISE');
    const next = await person(app, `next${number}`, 'ENTERPRISE');
    const { base, id } = await createProject(former);
    const key = newKey();
    const { document, variables } = requestOf(id, (await createWebhook(former, base)).id);
    const options = { as: former, ...(variables && { variables }) };
    expect((await send(document, key, options)).text).toContain('whsec_');
    const offer = await former.rest<Resource>('POST', `${base}/transfer`, { email: `${next.subject}@example.com` });
    await next.rest('POST', `/api/transfers/${offer.body.id}/accept`, {});
    const { body } = await next.rest<{ data: Resource[] }>('GET', `${base}/members`);
    await next.rest('PATCH', `${base}/members/${body.data[0]!.id}`, { role: 'VIEWER' });
    const { text } = await send(document, key, options);
    expect(text).toContain('FORBIDDEN');
    expect(text).not.toContain('whsec_');
  });

  test('returns the original response even if a process of the previous version stored it', async () => {
    const key = newKey();
    const first = await send(CREATE, key, { variables: input() });
    const keyring = await loadKeyring({ secretKeys: undefined, dataDir: app.dataDir });
    const store = createIdempotencyStore({ pool, poolSize: 10, secretBox: createSecretBox(keyring) });
    const { rows } = await pool.query('SELECT "scope", "fingerprint" FROM "IdempotencyKey" WHERE "key" = $1', [key]);
    const { scope, fingerprint } = rows[0];
    const claim = { accountId: 'usr_1', scope, key, fingerprint };
    const stored = (await store.begin(claim)) as StoredResponse;
    const { projectIds: _, ...body } = stored.body as Record<string, unknown>;
    await pool.query('DELETE FROM "IdempotencyKey" WHERE "key" = $1', [key]);
    const attempt = (await store.begin(claim)) as { finish(response: StoredResponse): Promise<void> };
    await attempt.finish({ ...stored, body });
    expect(await send(CREATE, key, { variables: input() })).toMatchObject({ text: first.text, replayed: 'true' });
  });

  test('is stored encrypted', async () => {
    const key = newKey();
    await send(CREATE, key, { variables: input() });
    const { rows } = await pool.query('SELECT t::text AS text FROM "IdempotencyKey" t WHERE "key" = $1', [key]);
    expect(rows).toHaveLength(1);
    expect(rows[0].text).not.toContain('whsec_');
  });
});

describe('a mutation whose response is too large to store', () => {
  /** Creates a webhook, and reads a 30 KB value as often as requested. */
  const large = (endpointId: string, copies: number) => {
    const values = Array.from({ length: copies }, (_, index) => `a${index}: exampleResponse`).join(' ');
    const reading = `updateEndpoint(input: { id: "${endpointId}" }) { endpoint { ${values} } }`;
    return `mutation { ${creation()} ${reading} }`;
  };
  const createLargeEndpoint = () => createEndpoint(alice, project.base, { exampleResponse: 'x'.repeat(30_000) });

  test('returns its response once, and a retry is rejected without running it again', async () => {
    const { id } = await createLargeEndpoint();
    const [key, document] = [newKey(), large(id, 20)];
    const first = await send(document, key);
    expect(first.status).toBe(200);
    expect(first.text.length).toBeGreaterThan(600_000);
    const { rows } = await pool.query('SELECT "response" FROM "IdempotencyKey" WHERE "key" = $1', [key]);
    expect(rows).toEqual([{ response: null }]);
    // Even long after the first request, its key can't be reused.
    const age = `UPDATE "IdempotencyKey" SET "createdAt" = now() - interval '1 hour' WHERE "key" = $1`;
    for (let time = 0; time < 2; time++) {
      const retry = await send(document, key);
      expect(retry).toMatchObject({
        status: 409,
        replayed: null,
        body: { errors: [{ extensions: { code: 'IDEMPOTENCY_RESPONSE_NOT_STORED', retryable: false } }] },
      });
      await pool.query(age, [key]);
    }
    expect((await send(CREATE, key, { variables: input() })).status).toBe(422);
    expect(await count()).toBe(1);
  });

  test('returns the original response if it is a little smaller', async () => {
    const { id } = await createLargeEndpoint();
    const [key, document] = [newKey(), large(id, 8)];
    const first = await send(document, key);
    expect(await send(document, key)).toEqual({ ...first, replayed: 'true' });
  });

  test('returns the original error if it is even too large to send', async () => {
    const endpoints = Array.from({ length: 20 }, (_, index) => index);
    for (const index of endpoints)
      await createEndpoint(alice, project.base, { path: `/${index}`, exampleResponse: 'x'.repeat(30_000) });
    const values = Array.from({ length: 15 }, (_, index) => `a${index}: exampleResponse`).join(' ');
    const reading = `updateProject(input: { id: "${project.id}" }) { project { endpoints { nodes { ${values} } } } }`;
    const [key, document] = [newKey(), `mutation { ${creation()} ${reading} }`];
    const first = await send(document, key);
    expect(first.text).toContain('RESPONSE_TOO_LARGE');
    expect(await send(document, key)).toEqual({ ...first, replayed: 'true' });
    expect(await count()).toBe(1);
  });
});

test.each(['a b', 'x'.repeat(256)])('%j is not a valid Idempotency-Key for a mutation', async (key) => {
  const { status, body } = await send(CREATE, key, { variables: input() });
  expect([status, body]).toMatchObject([422, { errors: [{ extensions: { code: 'VALIDATION_FAILED' } }] }]);
  expect(await count()).toBe(0);
});

test('a mutation also runs only once if its document mentions subscriptions', async () => {
  const key = newKey();
  const document = `mutation { ${creation()} } # subscription`;
  const first = await send(document, key, { accept: 'application/json, */*' });
  expect(await send(document, key, { accept: 'application/json, */*' })).toEqual({ ...first, replayed: 'true' });
  expect(await count()).toBe(1);
});

test('a mutation that asks for a stream is rejected if it has an Idempotency-Key', async () => {
  expect((await send(`mutation { ${creation()} }`, newKey(), { accept: 'text/event-stream' })).status).toBe(406);
  expect(await count()).toBe(0);
});

test('queries ignore Idempotency-Key', async () => {
  const key = newKey();
  const query = `{ project(id: "${project.id}") { webhooks { nodes { id } } } }`;
  const first = await send(query, key);
  await send(CREATE, key, { variables: input() });
  const second = await send(query, key);
  expect(second).toMatchObject({ status: 200, replayed: null });
  expect(second.text).not.toBe(first.text);
});

test('over WebSocket, mutations run every time, because they have no Idempotency-Key', async () => {
  const client = await connectSocket(app.url, alice.token);
  for (const id of ['1', '2']) {
    client.send({ id, type: 'subscribe', payload: { query: CREATE, variables: input() } });
    await client.next(({ type }) => type === 'complete');
  }
  await client.close();
  expect(await count()).toBe(2);
});

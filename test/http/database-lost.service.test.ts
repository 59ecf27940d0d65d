import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { type CuttableProxy, startCuttableProxy } from '../support/cuttable-proxy.ts';
import { createTestDatabase, runOnServer, type TestDatabase } from '../support/database.ts';
import { createKey, createProject, GOOD } from '../support/resources.ts';

let database: TestDatabase;
let wire: CuttableProxy;
let app: TestApp;
let alice: TestUser;
let key: TestUser;
let project: { id: string; base: string };

beforeAll(async () => {
  database = await createTestDatabase();
  const url = new URL(database.url);
  wire = await startCuttableProxy(`http://${url.host}`);
  url.host = new URL(wire.url).host;
  app = await startTestApp({ databaseUrl: url.href, env: { ROLES: 'api' } });
  alice = await app.user('alice', 'ENTERPRISE');
  project = await createProject(alice);
  key = app.caller((await createKey(alice, project.base)).key);
});

const isReady = async () => {
  wire.mend();
  await expect.poll(async () => (await fetch(`${app.url}/readyz`)).status).toBe(200);
};

afterAll(async () => {
  wire?.mend();
  await app?.stop();
  await wire?.close();
  await database?.drop();
});

const ask = (user: TestUser, query: string, accept = 'application/json') =>
  fetch(`${app.url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${user.token}`, 'content-type': 'application/json', accept },
    body: JSON.stringify({ query }),
  });

const ACCEPTED = ['application/json', 'application/graphql-response+json'];

describe('while the database cannot be reached, requests get 503 with Retry-After', () => {
  beforeEach(isReady);

  test.each(['a token', 'an API key'])('over REST with %s', async (credential) => {
    wire.cut();
    const user = credential === 'a token' ? alice : key;
    const { status, body, headers } = await user.rest('GET', project.base);
    expect(status).toBe(503);
    expect(body).toMatchObject({ code: 'UNAVAILABLE', status: 503 });
    expect(headers.get('retry-after')).toBe('1');
  });

  test.each(ACCEPTED)('over GraphQL with response type %s', async (accept) => {
    wire.cut();
    const response = await ask(alice, '{ viewer { tier } }', accept);
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await response.json()).toMatchObject({
      errors: [{ extensions: { code: 'UNAVAILABLE', retryable: true } }],
    });
  });
});

describe('while the database is read-only', () => {
  /** Makes only writes fail, so that credentials can still be checked. */
  const setReadOnly = async (value: 'on' | 'off') => {
    await runOnServer(
      database.url,
      `BEGIN READ WRITE;
       ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET default_transaction_read_only = ${value};
       COMMIT`,
    );
    // Open connections keep their settings.
    wire.cut();
    wire.mend();
  };
  beforeAll(() => setReadOnly('on'));
  afterAll(() => setReadOnly('off'));

  test('a change over REST returns 503 with Retry-After', async () => {
    const { status, body, headers } = await alice.rest('POST', `${project.base}/webhooks`, GOOD.webhook);
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    expect(body).toMatchObject({ code: 'UNAVAILABLE' });
  });

  test.each(ACCEPTED)(
    'a change over GraphQL with response type %s returns 503 if nothing was changed',
    async (accept) => {
      const response = await ask(
        alice,
        `mutation { createProject(input: { name: "x", walletAddress: "${GOOD.project.walletAddress}" }) {
      project { id } } }`,
        accept,
      );
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
      const extensions = { code: 'UNAVAILABLE', retryable: true, retryAfterSeconds: 1 };
      expect(await response.json()).toMatchObject({ data: { createProject: null }, errors: [{ extensions }] });
    },
  );

  test('queries still work', async () => {
    const { data, errors } = await alice.graphql('{ viewer { tier } projects { nodes { id } } }');
    expect(errors).toBeUndefined();
    expect(data).toMatchObject({ projects: { nodes: [{ id: project.id }] } });
  });

  test('the process is not ready', async () => {
    await expect.poll(async () => (await fetch(`${app.url}/readyz`)).status).toBe(503);
  });
});

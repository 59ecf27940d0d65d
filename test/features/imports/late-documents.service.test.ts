import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { join, person } from '../../support/members.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { createEndpoint, createKey, createProject, EVERY_SCOPE, type Resource } from '../../support/resources.ts';
import { apiWith, getting } from './documents.ts';

const DOCUMENT = apiWith({ '/new': getting('New'), '/old': getting('Old') });
const ITEMS = { priceUsd: '1', items: [{ path: '/new' }, { path: '/old' }] };
const QUERY = 'mutation ($input: ImportEndpointsInput!) { importEndpoints(input: $input) { results { status } } }';
const PREVIEW = 'mutation ($input: PreviewImportInput!) { previewImport(input: $input) { items { path } } }';

let app: TestApp;
let alice: TestUser;
/** Sends the document only once it is let go. */
let server: Receiver;
let letGo: () => void;
let projectId: string;
let base: string;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  alice = await app.user('alice', 'ENTERPRISE');
  server = await startReceiver();
});
afterAll(async () => {
  await app?.stop();
  await server?.close();
});
beforeEach(async () => {
  ({ base, id: projectId } = await createProject(alice));
  const gate = Promise.withResolvers<void>();
  letGo = gate.resolve;
  server.requests.length = 0;
  server.handle(async () => {
    await gate.promise;
    return { headers: { 'content-type': 'application/json' }, body: DOCUMENT };
  });
});

/** Sends the operation, and changes something while the service waits for the document. Returns the code of the error. */
async function changedMeanwhile(operation: () => Promise<string | undefined>, change: () => Promise<unknown>) {
  const running = operation();
  await server.waitFor(1);
  await change();
  letGo();
  return running;
}

const input = () => ({ projectId, url: server.url, ...ITEMS });

/** Ways to import the document. Each returns the code of the error, if there is one. */
const WAYS = {
  async REST(caller: TestUser) {
    const body = { url: server.url, ...ITEMS };
    return (await caller.rest<{ code?: string }>('POST', `${base}/endpoints/import`, body)).body.code;
  },
  async GraphQL(caller: TestUser) {
    const { errors } = await caller.graphql(QUERY, { input: input() });
    return errors?.[0]?.extensions.code as string | undefined;
  },
};

describe.each(['REST', 'GraphQL'] as const)('an import of a document that arrives late, over %s,', (way) => {
  test('changes nothing if the API key was revoked in the meantime', async () => {
    const old = await createEndpoint(alice, base, { path: '/old', upstreamUrl: 'https://old.example.com/old' });
    const { id, key } = await createKey(alice, base, EVERY_SCOPE);
    const revoke = () => alice.rest('DELETE', `${base}/keys/${id}`);
    expect(await changedMeanwhile(() => WAYS[way](app.caller(key)), revoke)).toBe('UNAUTHENTICATED');
    await expectOnly(old);
  });

  test('changes nothing if the person’s role no longer allows it', async () => {
    const old = await createEndpoint(alice, base, { path: '/old', upstreamUrl: 'https://old.example.com/old' });
    const dana = await person(app, 'dana');
    const { id } = await join(alice, base, dana, 'DEVELOPER');
    const demote = () => alice.rest('PATCH', `${base}/members/${id}`, { role: 'VIEWER' });
    expect(await changedMeanwhile(() => WAYS[way](dana), demote)).toBe('FORBIDDEN');
    await expectOnly(old);
  });

  test('works if nothing changed', async () => {
    expect(
      await changedMeanwhile(
        () => WAYS[way](alice),
        async () => {},
      ),
    ).toBeUndefined();
    expect(await endpoints()).toHaveLength(2);
  });
});

test('a preview of a document that arrives late shows nothing to an API key that was revoked in the meantime', async () => {
  await createEndpoint(alice, base, { path: '/old' });
  const { id, key } = await createKey(alice, base, EVERY_SCOPE);
  const preview = async () => {
    const { data, errors } = await app.caller(key).graphql(PREVIEW, { input: { projectId, url: server.url } });
    expect(data?.previewImport ?? null).toBeNull();
    return errors?.[0]?.extensions.code as string;
  };
  const revoke = () => alice.rest('DELETE', `${base}/keys/${id}`);
  expect(await changedMeanwhile(preview, revoke)).toBe('UNAUTHENTICATED');
});

const endpoints = async () => (await alice.rest<{ data: Resource[] }>('GET', `${base}/endpoints`)).body.data;

/** Expects that the project has only this endpoint, and that it is unchanged. */
async function expectOnly({ id, upstreamUrl }: Resource): Promise<void> {
  const shown = (await endpoints()).map((endpoint) => [endpoint.id, endpoint.upstreamUrl]);
  expect(shown).toEqual([[id, upstreamUrl]]);
}

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { runCli } from '../../support/cli.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { createEndpoint, createKey, createProject, EVERY_SCOPE, type Resource } from '../../support/resources.ts';
import { apiWith, getting } from './documents.ts';

type Item = { path: string; methods: string[]; upstreamUrl: string };
type Result = { path: string; status: string; error: { code: string; message: string } | null };

let app: TestApp;
let alice: TestUser;
/** The document's server, which belongs to someone else. */
let server: Receiver;
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
  await createEndpoint(alice, base, { path: '/old', upstreamUrl: 'https://api.example.com/secret/old' });
  serve(SEEN);
});

const SEEN = 'https://api.example.com/secret';
const OTHER = 'https://thief.example.com/secret';

/** Serves a document that names one API the first time, and another one from then on. */
function serve(first: string, then = first): void {
  server.requests.length = 0;
  server.handle((_request, _response, index) => ({
    headers: { 'content-type': 'application/json' },
    body: apiWith(
      { '/new': getting('New'), '/old': getting('Better text') },
      { servers: [{ url: index === 0 ? first : then }] },
    ),
  }));
}

async function upstreams(): Promise<string[]> {
  const { body } = await alice.rest<{ data: Resource[] }>('GET', `${base}/endpoints`);
  return body.data.map(({ upstreamUrl }) => upstreamUrl as string);
}

async function previewed(caller: TestUser): Promise<Item[]> {
  const source = { url: server.url, priceUsd: '1' };
  const { body } = await caller.rest<{ items: Item[] }>('POST', `${base}/endpoints/import/preview`, source);
  return body.items.map(({ path, methods, upstreamUrl }) => ({ path, methods, upstreamUrl }));
}

async function imported(caller: TestUser, items: Item[]): Promise<Result[]> {
  const body = { url: server.url, priceUsd: '1', items };
  return (await caller.rest<{ results: Result[] }>('POST', `${base}/endpoints/import`, body)).body.results;
}

describe('an import of a document that has changed since the preview', () => {
  test('imports nothing whose upstream URL is no longer the one that the person saw', async () => {
    serve(SEEN, OTHER);
    const items = await previewed(alice);
    const error = { code: 'VALIDATION_FAILED', message: expect.stringContaining('has changed') };
    expect(await imported(alice, items)).toMatchObject([
      { path: '/new', status: 'FAILED', error },
      { path: '/old', status: 'FAILED', error },
    ]);
    expect(await upstreams()).toEqual(['https://api.example.com/secret/old']);
  });

  test.each([
    ['a person', () => Promise.resolve(alice)],
    ['an API key, which sees masked URLs', async () => app.caller((await createKey(alice, base, EVERY_SCOPE)).key)],
  ])('imports what has the same upstream URL, for %s', async (_who, callerOf) => {
    const caller = await callerOf();
    const items = await previewed(caller);
    expect((await imported(caller, items)).map(({ path, status }) => `${status} ${path}`)).toEqual([
      'CREATED /new',
      'UPDATED /old',
    ]);
  });

  test('changes nothing if a person confirms it on the command line', async () => {
    const env = { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: alice.token, TOLLGATE_PROJECT: projectId };
    serve(SEEN, OTHER);
    const { code, stdout, stderr } = await runCli(['import', server.url, '--price', '1', '--json'], env, 'y\n');
    expect(stderr).toContain(`→ ${SEEN}/old`);
    expect(stdout).toContain('has changed');
    expect(code).toBe(1);
    expect(await upstreams()).toEqual(['https://api.example.com/secret/old']);
  });
});

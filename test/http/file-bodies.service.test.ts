import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createProject } from '../support/resources.ts';

let app: TestApp;
let alice: TestUser;
let bob: TestUser;
let base: string;
let bobsBase: string;
const open: Socket[] = [];

beforeAll(async () => {
  app = await startTestApp();
  alice = await app.user('alice', 'ENTERPRISE');
  bob = await app.user('bob', 'ENTERPRISE');
  ({ base } = await createProject(alice));
  ({ base: bobsBase } = await createProject(bob));
});
afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy();
});
afterAll(() => app?.stop());

const LARGE = 300 * 1024;

/** Sends the head of a request and a part of its body. The rest never arrives. */
async function send(user: TestUser, url: string, headers: string, part = '{'): Promise<Socket> {
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
  open.push(socket);
  await once(socket, 'connect');
  const head = `POST ${url} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${user.token}\r\n`;
  socket.write(`${head}Content-Type: application/json\r\n${headers}\r\n\r\n${part}`);
  return socket;
}

const sized = (bytes: number) => `Content-Length: ${bytes}`;
const chunked = 'Transfer-Encoding: chunked';
const chunkOf = (bytes: number) => `${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n`;

async function statusOf(socket: Socket): Promise<string> {
  const [data] = await once(socket, 'data');
  return String(data).split(' ', 2)[1]!;
}

/** Sends a large body that is complete. Retries while the service is too busy to read the document in time. */
async function importLarge(user: TestUser, projectPath: string): Promise<number> {
  const info = { title: 'x'.repeat(LARGE) };
  const document = JSON.stringify({ openapi: '3.1.0', info, paths: { '/a': { get: {} } } });
  const input = { document, upstreamUrl: 'https://api.example.com' };
  const preview = async () => (await user.rest('POST', `${projectPath}/endpoints/import/preview`, input)).status;
  let status = await preview();
  while (status === 503) status = await preview();
  return status;
}

test.each([
  ['REST, with a length', 'rest', sized(LARGE), '{'],
  ['REST, in chunks', 'rest', chunked, chunkOf(LARGE)],
  ['GraphQL, with a length', 'graphql', sized(LARGE), '{'],
  ['GraphQL, in chunks', 'graphql', chunked, chunkOf(LARGE)],
])('an account can send only two large bodies at the same time: %s', async (_name, api, headers, part) => {
  const url = api === 'rest' ? `${base}/endpoints/import/preview` : '/graphql';
  const statuses: string[] = [];
  for (let count = 0; count < 3; count++) {
    statusOf(await send(alice, url, headers, part)).then((status) => statuses.push(status));
  }
  await expect.poll(() => statuses).toEqual(['429']);
  // Neither small bodies nor other accounts are affected.
  expect(await statusOf(await send(alice, '/graphql', sized(2), '{}'))).toBe('400');
  expect(await importLarge(bob, bobsBase)).toBe(200);
  for (const socket of open.splice(0)) socket.destroy();
  await expect.poll(() => importLarge(alice, base)).toBe(200);
});

test('a body that is complete makes room for the next one', async () => {
  for (let count = 0; count < 4; count++) expect(await importLarge(alice, base)).toBe(200);
});

test('a client that disconnects before its body is read frees its slot', async () => {
  for (let count = 0; count < 20; count++) {
    const socket = await send(alice, '/graphql', sized(LARGE));
    socket.resetAndDestroy();
    await once(socket, 'close');
  }
  await expect.poll(() => importLarge(alice, base)).toBe(200);
  expect(await importLarge(bob, bobsBase)).toBe(200);
});

test.each(['text/event-stream', '*/*'])('a stream can’t keep a large body in memory (Accept: %s)', async (accept) => {
  const response = await fetch(`${app.url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${alice.token}`, 'content-type': 'application/json', accept },
    body: JSON.stringify({
      query: 'subscription ($id: ID!) { deliveryUpdated(projectId: $id) { cursor } }',
      variables: { id: base.split('/').at(-1), input: { document: 'x'.repeat(LARGE) } },
    }),
    signal: AbortSignal.timeout(60_000),
  });
  expect(response.status).toBe(413);
  expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'PAYLOAD_TOO_LARGE' } }] });
});

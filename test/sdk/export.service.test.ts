import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Tollgate } from '../../packages/sdk/src/index.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { type Receiver, startReceiver, type TestResponse } from '../support/receiver.ts';
import { createEndpoint, createProject } from '../support/resources.ts';

let app: TestApp;
let alice: TestUser;
let receiver: Receiver;
let tollgate: Tollgate;
let base: string;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  alice = await app.user('alice', 'ENTERPRISE');
  receiver = await startReceiver();
});
afterAll(async () => {
  await receiver?.close();
  await app?.stop();
});
beforeEach(async () => {
  const project = await createProject(alice);
  base = project.base;
  tollgate = new Tollgate({ baseUrl: app.url, token: alice.token, projectId: project.id });
  for (let count = 0; count < 3; count++) await createEndpoint(alice, base);
});

/** A client for a server that responds with this body. */
function clientOf(body: string) {
  receiver.handle(() => ({ statusCode: 200, headers: { 'content-type': 'application/jsonl' }, body }));
  return new Tollgate({ baseUrl: receiver.url, token: 'x', projectId: 'proj_1' });
}

test('the rows of an export are the items of the list, oldest first', async () => {
  const { data } = await tollgate.events.list({ limit: 100 }).page();
  const rows = [];
  for await (const event of tollgate.events.export()) rows.push(event);
  expect(rows).toEqual(data.toReversed());
  const filtered = [];
  for await (const { action } of tollgate.auditLog.export({ action: ['project.created'] })) filtered.push(action);
  expect(filtered).toEqual(['project.created']);
  for await (const { start } of tollgate.revenue.export({ interval: 'MONTH' })) expect(start).toMatch(/^\d{4}-/);
});

test('an export can be read as a file', async () => {
  const text = async (format: 'csv' | 'jsonl') => new Response(await tollgate.events.export().file(format)).text();
  expect(await text('csv')).toMatch(/^id,projectId,type,.*\r\n(evt_.*\r\n){3}$/);
  expect(await text('jsonl')).toMatch(/^(\{"id":"evt_.*\}\n){3}$/);
});

test("an export that is rejected throws the service's error", async () => {
  const rejected = async () => {
    for await (const _ of tollgate.payments.export({ payer: 'nobody' })) throw new Error('There is a row');
  };
  await expect(rejected()).rejects.toMatchObject({ code: 'VALIDATION_FAILED', status: 422 });
  await expect(tollgate.events.export({}, { projectId: 'proj_1' }).file('csv')).rejects.toMatchObject({
    code: 'NOT_FOUND',
  });
});

test('a page of another server, such as one that asks people to sign in, is not an export', async () => {
  receiver.handle(() => ({ statusCode: 200, headers: { 'content-type': 'text/html' }, body: '<h1>Sign in</h1>' }));
  const client = new Tollgate({ baseUrl: receiver.url, token: 'x', projectId: 'proj_1' });
  await expect(client.events.export().file('csv')).rejects.toMatchObject({ code: 'INVALID_RESPONSE', status: 200 });
});

test('an export that ends in the middle of a line returns its complete rows and then throws an error', async () => {
  const client = clientOf('{"id":"a"}\n{"id":"b"}\n{"id":');
  const ids: string[] = [];
  const reading = async () => {
    for await (const { id } of client.events.export()) ids.push(id);
  };
  await expect(reading()).rejects.toMatchObject({ code: 'CONNECTION_FAILED', message: 'The export was cut off.' });
  expect(ids).toEqual(['a', 'b']);
});

test('a connection that is cut or goes silent during an export is an error', async () => {
  let end: 'cut' | 'silence' = 'cut';
  receiver.handle((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/jsonl' });
    response.write('{"id":"a"}\n', () => end === 'cut' && response.destroy());
    return undefined;
  });
  const client = new Tollgate({ baseUrl: receiver.url, token: 'x', projectId: 'proj_1', timeoutSeconds: 0.5 });
  const reading = async () => {
    for await (const { id } of client.events.export()) expect(id).toBe('a');
  };
  await expect(reading()).rejects.toMatchObject({ code: 'CONNECTION_FAILED' });
  end = 'silence';
  await expect(reading()).rejects.toMatchObject({ code: 'TIMED_OUT' });
});

test('an export is retried while the service is unavailable, and ends with the caller’s signal', async () => {
  let requests = 0;
  receiver.handle((): TestResponse => {
    requests += 1;
    if (requests === 1) return { statusCode: 503, headers: { 'retry-after': '0' } };
    return { statusCode: 200, headers: { 'content-type': 'application/jsonl' }, body: '{"id":"a"}\n' };
  });
  const client = new Tollgate({ baseUrl: receiver.url, token: 'x', projectId: 'proj_1' });
  for await (const { id } of client.events.export()) expect(id).toBe('a');
  expect(requests).toBe(2);
  const aborted = AbortSignal.abort(new Error('enough'));
  await expect(client.events.export({}, { signal: aborted }).file('csv')).rejects.toThrow('enough');
});

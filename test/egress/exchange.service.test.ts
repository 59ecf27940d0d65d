import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createTestEgress, loopback } from './support.ts';

describe('an egress request', () => {
  test('sends the method, path, headers, and body as given, and returns the status, headers, and body', async () => {
    await using receiver = await startReceiver(() => ({
      statusCode: 418,
      headers: { 'x-a': ['1', '2'] },
      body: 'tea',
    }));
    await using egress = createTestEgress({ allow: loopback(receiver) });
    const headers = { 'content-type': 'application/json', 'webhook-id': 'evt_1' };
    const answer = await egress.get(`${receiver.url}/a/b?c=d`, {
      method: 'POST',
      headers,
      body: Buffer.from('{"é":1}'),
    });
    expect(answer).toMatchObject({ statusCode: 418, headers: { 'x-a': ['1', '2'] }, bodyTruncated: false });
    expect(answer.body.toString()).toBe('tea');
    expect(answer.durationMilliseconds).toBeGreaterThanOrEqual(0);
    const received = receiver.requests[0]!;
    expect(received).toMatchObject({
      method: 'POST',
      path: '/a/b?c=d',
      headers: { ...headers, 'content-length': '8' },
    });
    expect(received.body.toString()).toBe('{"é":1}');
  });

  test('reuses a connection for later requests', async () => {
    await using receiver = await startReceiver();
    await using egress = createTestEgress({ allow: loopback(receiver) });
    for (let count = 0; count < 20; count++) await egress.get(receiver.url);
    // A connection pauses for one turn of the event loop between requests, so two of them alternate.
    expect(receiver.connectionCount()).toBeLessThanOrEqual(2);
  });

  test('can run at the same time as more than a thousand others', async () => {
    const gate = Promise.withResolvers<undefined>();
    const hold = async () => {
      await gate.promise;
      return {};
    };
    const receivers: Receiver[] = [];
    for (let count = 0; count < 10; count++) receivers.push(await startReceiver(hold));
    await using egress = createTestEgress({ allow: loopback(...receivers) });
    const answers = receivers.flatMap(({ url }) => Array.from({ length: 110 }, () => egress.get(url)));
    await Promise.all(receivers.map((receiver) => receiver.waitFor(110)));
    gate.resolve(undefined);
    const statusCodes = (await Promise.all(answers)).map((answer) => answer.statusCode);
    expect(statusCodes).toEqual(Array.from({ length: 1_100 }, () => 200));
    await Promise.all(receivers.map((receiver) => receiver.close()));
  });

  test('waits for a free connection if its origin has none left, and can be aborted while it waits', async () => {
    const gate = Promise.withResolvers<undefined>();
    await using receiver = await startReceiver(async (_request, _response, index) => {
      if (index === 0) await gate.promise;
      return {};
    });
    await using egress = createTestEgress({ allow: loopback(receiver), connectionsPerOrigin: 1 });
    const first = egress.get(`${receiver.url}/first`);
    await receiver.waitFor(1);
    expect(await egress.failureOf(`${receiver.url}/late`, { timeoutMilliseconds: 50 })).toMatchObject({
      errorClass: 'timeout',
    });
    gate.resolve(undefined);
    await first;
    await egress.get(`${receiver.url}/third`);
    expect(receiver.requests.map(({ path }) => path)).toEqual(['/first', '/third']);
    expect(receiver.connectionCount()).toBe(1);
  });

  test('ends when its caller aborts it', async () => {
    const closed = Promise.withResolvers<void>();
    await using receiver = await startReceiver((_request, response) => {
      response.on('close', () => closed.resolve());
      return undefined;
    });
    await using egress = createTestEgress({ allow: loopback(receiver) });
    const controller = new AbortController();
    const failure = egress.failureOf(receiver.url, { signal: controller.signal });
    await receiver.waitFor(1);
    controller.abort();
    expect(await failure).toMatchObject({ errorClass: 'aborted' });
    await closed.promise;
    expect(await egress.failureOf(receiver.url, { signal: controller.signal })).toMatchObject({
      errorClass: 'aborted',
    });
    expect(receiver.requests).toHaveLength(1);
  });

  test('is rejected by a closed egress', async () => {
    await using receiver = await startReceiver();
    const egress = createTestEgress({ allow: loopback(receiver) });
    await egress.get(receiver.url);
    await egress.close();
    expect(await egress.failureOf(receiver.url)).toMatchObject({ errorClass: 'aborted' });
  });

  test('finishes before the egress finishes closing', async () => {
    const gate = Promise.withResolvers<undefined>();
    await using receiver = await startReceiver(async () => {
      await gate.promise;
      return { statusCode: 202 };
    });
    const egress = createTestEgress({ allow: loopback(receiver) });
    const answer = egress.get(receiver.url);
    await receiver.waitFor(1);
    const closing = egress.close();
    gate.resolve(undefined);
    expect((await answer).statusCode).toBe(202);
    await closing;
  });

  test('can be streamed through the guarded dispatcher', async () => {
    await using receiver = await startReceiver(() => ({ body: 'streamed' }));
    await using egress = createTestEgress({ allow: loopback(receiver) });
    const { statusCode, body } = await request(receiver.url, { dispatcher: egress.dispatcherFor('') });
    expect([statusCode, await body.text()]).toEqual([200, 'streamed']);
  });
});

describe('fetchJson', () => {
  test('returns the document', async () => {
    await using receiver = await startReceiver(() => ({ body: '{"keys":[]}' }));
    await using egress = createTestEgress({ allow: loopback(receiver) });
    const document = await egress.fetchJson(receiver.url, { timeoutMilliseconds: 5_000, maxBytes: 100 });
    expect(document).toEqual({ keys: [] });
  });

  test.each([
    ['a status other than 200', { statusCode: 404, body: '{}' }, 'status 404'],
    ['endless redirects', { statusCode: 302, headers: { location: '/elsewhere' } }, 'redirects too many times'],
    [
      'a redirect to another site',
      { statusCode: 302, headers: { location: 'https://evil.example/keys?token=hidden#x' } },
      'It redirects to https://evil.example/keys. Use that URL instead.',
    ],
    ['a redirect to nowhere', { statusCode: 302 }, "doesn't say where to"],
    ['a status that only looks like a redirect', { statusCode: 304 }, 'status 304'],
    ['something other than JSON', { body: '<html>' }, "isn't JSON"],
    ['too many bytes', { body: `"${'x'.repeat(100)}"` }, 'larger than 100 bytes'],
  ])('fails on %s', async (_name, answer, message) => {
    await using receiver = await startReceiver(() => answer);
    await using egress = createTestEgress({ allow: loopback(receiver) });
    const fetched = egress.fetchJson(receiver.url, { timeoutMilliseconds: 5_000, maxBytes: 100 });
    await expect(fetched).rejects.toMatchObject({
      errorClass: 'protocol_error',
      message: expect.stringContaining(message),
    });
  });

  test.each([301, 302, 303, 307, 308])('follows a redirect with status %i on the same site', async (statusCode) => {
    const location = '/keys.json?v=2#x';
    await using receiver = await startReceiver(({ path }) =>
      path === '/' ? { statusCode, headers: { location } } : { body: '{"keys":[]}' },
    );
    await using egress = createTestEgress({ allow: loopback(receiver) });
    const document = await egress.fetchJson(receiver.url, { timeoutMilliseconds: 5_000, maxBytes: 100 });
    expect(document).toEqual({ keys: [] });
    expect(receiver.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /', 'GET /keys.json?v=2']);
  });

  test("doesn't follow a redirect from https to http", async () => {
    await using receiver = await startReceiver(() => ({
      statusCode: 302,
      headers: { location: 'http://idp.example/' },
    }));
    const hostOverrides = { 'idp.example': receiver.url };
    const lookup = async () => ['127.0.0.1'];
    await using egress = createTestEgress({ allow: loopback(receiver), hostOverrides, lookup });
    const fetched = egress.fetchJson('https://idp.example/keys', { timeoutMilliseconds: 5_000, maxBytes: 100 });
    await expect(fetched).rejects.toThrow('It redirects to http://idp.example/.');
    expect(receiver.requests).toHaveLength(1);
  });

  test('is guarded like every request', async () => {
    await using receiver = await startReceiver();
    await using egress = createTestEgress();
    const fetched = egress.fetchJson(receiver.url, { timeoutMilliseconds: 5_000, maxBytes: 100 });
    await expect(fetched).rejects.toMatchObject({ errorClass: 'target_not_allowed' });
    expect(receiver.connectionCount()).toBe(0);
  });
});

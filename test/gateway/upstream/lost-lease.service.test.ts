import { getEventListeners } from 'node:events';
import { Agent } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callUpstream } from '../../../src/gateway/upstream/upstream.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';

let upstream: Receiver;
let dispatcher: Agent;

beforeAll(async () => {
  upstream = await startReceiver(({ path }) => (path === '/slow' ? undefined : { statusCode: 200 }));
  dispatcher = new Agent();
});

afterAll(async () => {
  await dispatcher?.destroy();
  await upstream?.close();
});

function call(path: string, signals: { lost: AbortSignal; gone: AbortSignal }) {
  return callUpstream(dispatcher, {
    ...{ origin: upstream.url, path, method: 'GET', headers: {}, body: null, ...signals },
    timeoutMilliseconds: 60_000,
    publicLocation: () => undefined,
    withhold: () => {},
    memory: { take: () => true, mayDrop: () => {} },
  });
}

test('a call to an upstream ends when another process takes over the payment', async () => {
  const lost = new AbortController();
  const calling = call('/slow', { lost: lost.signal, gone: new AbortController().signal });
  calling.catch(() => {});
  await upstream.waitFor(1);
  lost.abort();
  await expect(calling).rejects.toMatchObject({ name: 'UpstreamError', reason: 'interrupted' });
});

test('a call to an upstream is not made after another process took over the payment', async () => {
  const calling = call('/quick', { lost: AbortSignal.abort(), gone: new AbortController().signal });
  await expect(calling).rejects.toMatchObject({ name: 'UpstreamError', reason: 'interrupted' });
});

test('a call to an upstream leaves no listeners behind', async () => {
  const signals = { lost: new AbortController().signal, gone: new AbortController().signal };
  expect(await call('/quick', signals)).toMatchObject({ statusCode: 200 });
  expect(Object.values(signals).flatMap((signal) => getEventListeners(signal, 'abort'))).toEqual([]);
});

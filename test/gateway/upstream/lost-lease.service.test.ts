import { getEventListeners } from 'node:events';
import { Agent } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callUpstream } from '../../../src/gateway/upstream/upstream.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';

let upstream: Receiver;
let dispatcher: Agent;
/** Called when the upstream has received a request for `/moved`, before it redirects to `/moved/`. */
let onMoved = () => {};

beforeAll(async () => {
  upstream = await startReceiver(({ path }) => {
    if (path === '/slow') return undefined;
    if (path !== '/moved') return { statusCode: 200 };
    onMoved();
    return { statusCode: 307, headers: { location: '/moved/' } };
  });
  dispatcher = new Agent({ connections: 1 });
});

afterAll(async () => {
  await dispatcher?.destroy();
  await upstream?.close();
});

function call(path: string, signals: { lost: AbortSignal; gone: AbortSignal }) {
  return callUpstream(dispatcher, {
    origin: upstream.url,
    path,
    method: 'GET',
    headersFor: () => ({}),
    body: null,
    ...signals,
    timeoutMilliseconds: 60_000,
    publicHost: 'pay.example',
    publicLocation: () => undefined,
    mayUseOtherSlash: async () => true,
    withhold: async () => {},
    redirectTarget: async ({ href }: URL) => href,
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

test.each([
  ['the buyer has disconnected', 'gone', 'buyer_gone'],
  ['another process took over the payment', 'lost', 'interrupted'],
])('a redirect is not followed after %s', async (_what, signal, reason) => {
  const ends = { lost: new AbortController(), gone: new AbortController() };
  onMoved = () => ends[signal as keyof typeof ends].abort();
  const calling = call('/moved', { lost: ends.lost.signal, gone: ends.gone.signal });
  await expect(calling).rejects.toMatchObject({ name: 'UpstreamError', reason });
  // There is only one connection, so a second request would have arrived before this one.
  await call('/last', { lost: new AbortController().signal, gone: new AbortController().signal });
  expect(upstream.requests.map(({ path }) => path)).not.toContain('/moved/');
});

import { Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Dispatcher } from 'undici';
import { expect, test } from 'vitest';
import { callUpstream } from '../../../src/gateway/upstream/upstream.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const CHUNKS = 200_000;

test('a response uses memory only for its bytes, not for each of its chunks', async () => {
  const sampled: WeakRef<Buffer>[] = [];
  let kept: number | undefined;
  async function* chunks() {
    for (let index = 0; index < CHUNKS; index++) {
      const chunk = Buffer.alloc(1, 'a');
      if (index % 1_000 === 0) sampled.push(new WeakRef(chunk));
      yield chunk;
    }
    // The response isn't complete yet.
    await expect
      .poll(() => {
        collectGarbage();
        kept = sampled.filter((reference) => reference.deref()).length;
        return kept;
      })
      .toBe(0);
  }
  const body = Readable.from(chunks());
  const dispatcher = { compose: () => ({ request: async () => ({ statusCode: 200, headers: {}, body }) }) };
  let takenBytes = 0;
  const never = new AbortController().signal;

  const response = await callUpstream(dispatcher as unknown as Dispatcher, {
    origin: 'http://upstream.example',
    path: '/',
    method: 'GET',
    headersFor: () => ({}),
    body: null,
    lost: never,
    gone: never,
    timeoutMilliseconds: 600_000,
    publicHost: 'pay.example',
    publicLocation: () => undefined,
    mayUseOtherSlash: async () => true,
    withhold: async () => {},
    redirectTarget: async ({ href }: URL) => href,
    memory: {
      take: (bytes) => {
        takenBytes += bytes;
        return true;
      },
      mayDrop: () => {},
    },
  });

  expect(response.body).toEqual(Buffer.alloc(CHUNKS, 'a'));
  expect(kept).toBe(0);
  // The buffer doubles when it is full.
  expect(takenBytes).toBeLessThan(4 * CHUNKS);
});

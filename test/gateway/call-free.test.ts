import { Readable } from 'node:stream';
import pino from 'pino';
import { expect, test } from 'vitest';
import { EgressError } from '../../src/egress/egress-error.ts';
import { createCallFree, type FreeRequest } from '../../src/gateway/call-free.ts';
import { createMemoryRateLimiter } from '../../src/limits/rate-limit.ts';

test('a free request is rejected if its body was already read, instead of being sent without the body', async () => {
  const { callFree } = createCallFree({
    dispatcherOf: () => ({}) as never,
    rateLimiter: createMemoryRateLimiter(),
    log: pino({ level: 'silent' }),
  });
  const body = Readable.from(['order']);
  for await (const _chunk of body);
  await expect(callFree({ body } as unknown as FreeRequest)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    retryAfterSeconds: 1,
  });
});

test.each([
  ['proxy_error', []],
  ['connection_reset', ['failed']],
] as const)('a free request counts as failed only if the API is at fault: %s', async (errorClass, outcomes) => {
  const counted: string[] = [];
  const request = () => Promise.reject(new EgressError(errorClass));
  const { callFree } = createCallFree({
    dispatcherOf: () => ({ compose: () => ({ request }) }) as never,
    rateLimiter: createMemoryRateLimiter(),
    log: pino({ level: 'silent' }),
    onOutcome: (outcome) => counted.push(outcome),
  });
  const free = {
    route: { settlement: 'AFTER_RESPONSE' },
    target: {},
    method: 'GET',
    headers: () => ({}),
    body: null,
    gone: new AbortController().signal,
    memory: { take: () => true, mayDrop: () => {} },
  };
  await expect(callFree(free as unknown as FreeRequest)).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });
  expect(counted).toEqual(outcomes);
});

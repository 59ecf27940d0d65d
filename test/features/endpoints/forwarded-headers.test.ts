import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { forwardedHeadersInput } from '../../../src/features/endpoints/forwarded-headers.ts';

const problemOf = (...names: unknown[]) => forwardedHeadersInput.safeParse(names).error?.issues[0];

test('names are stored in lowercase, without duplicates, in their original order', () => {
  expect(forwardedHeadersInput.parse(['X-Api-Version', 'authorization', 'x-api-version', 'Origin'])).toEqual([
    'x-api-version',
    'authorization',
    'origin',
  ]);
});

test('at most 32 names are accepted', () => {
  const names = (count: number) => Array.from({ length: count }, (_, index) => `x-${index}`);
  expect(problemOf(...names(32))).toBeUndefined();
  expect(problemOf(...names(33))?.message).toBe('Must have at most 32 names.');
});

describe('a name is rejected with the reason', () => {
  test.each([
    [
      'applies only to the connection',
      ['connection', 'Keep-Alive', 'te', 'transfer-encoding', 'upgrade', 'content-length'],
    ],
    [
      'applies only to the connection',
      ['proxy-authorization', 'proxy-connection', 'expect', 'trailer', 'http2-settings'],
    ],
    ['part of the payment', ['payment-signature', 'payment', 'X-Payment', 'x-payment-token', 'payment-required']],
    ['The gateway sets it', ['host', 'forwarded', 'via', 'x-forwarded-for', 'x-forwarded-user', 'X-Forwarded']],
    ['The gateway sets it', ['tollgate-payer', 'Tollgate-Signature', 'x-tollgate-payer', 'tollgate']],
    ['Cookies', ['cookie', 'Cookie2', 'set-cookie']],
    [
      'spoof their IP address',
      ['x-real-ip', 'x-client-ip', 'true-client-ip', 'x-cluster-client-ip', 'cf-connecting-ip'],
    ],
    ['a different request', ['x-original-url', 'x-rewrite-url', 'x-http-method-override', 'x-http-method']],
    ['a different request', ['x-method-override', 'x-host', 'x-http-host']],
    ['Must be the name of a header', ['', 'x_custom', 'x custom', 'x-', '-x', 'x--y', 'x:y', 'ü', 'x\r\ny', '*']],
    ['Must be the name of a header', ['x.custom', 'x'.repeat(65)]],
  ])('%s: %j', (reason, names) => {
    for (const name of names) {
      const problem = problemOf('x-fine', name);
      expect([name, problem?.path]).toEqual([name, [1]]);
      expect(problem?.message).toContain(reason);
    }
  });

  test('regardless of its capitalization', () => {
    const names = [
      'host',
      'x-forwarded-for',
      'payment-signature',
      'tollgate-payer',
      'cookie',
      'x-real-ip',
      'connection',
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }),
        (name, upper) => {
          const text = [...name].map((letter, at) => (upper[at] ? letter.toUpperCase() : letter)).join('');
          expect(problemOf(text)?.message).toMatch(/Can’t be forwarded/);
        },
      ),
    );
  });
});

test('every accepted name is a lowercase header name that all programs read the same way', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[A-Za-z0-9_.-]{1,70}$/)), (text) => {
      const { data } = forwardedHeadersInput.safeParse([text]);
      if (data) expect(data[0]).toMatch(/^[a-z0-9-]{1,64}$/);
    }),
  );
});

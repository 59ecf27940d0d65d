import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { createFailedCredentials } from '../../src/limits/failed-credentials.ts';

function withClock(options: { maxKeys?: number } = {}) {
  let time = 0;
  const failed = createFailedCredentials({ ...options, now: () => time });
  return {
    ...failed,
    pass: (milliseconds: number) => {
      time += milliseconds;
    },
    recordMany: (address: string, count: number) => {
      for (let index = 0; index < count; index++) failed.record(address);
    },
    isStopped: (address: string) => {
      try {
        failed.check(address);
        return false;
      } catch (error) {
        expect(error).toBeInstanceOf(AppError);
        expect(error).toMatchObject({ code: 'RATE_LIMITED', status: 429 });
        return true;
      }
    },
  };
}

describe('failed credentials', () => {
  test('thirty a minute are let through, then the address has to wait', () => {
    const { recordMany, isStopped, check, pass } = withClock();
    recordMany('203.0.113.5', 29);
    expect(isStopped('203.0.113.5')).toBe(false);
    recordMany('203.0.113.5', 1);
    expect(() => check('203.0.113.5')).toThrow(expect.objectContaining({ retryAfterSeconds: 2 }));
    pass(2000);
    expect(isStopped('203.0.113.5')).toBe(false);
  });

  test('requests with good credentials are never counted', () => {
    const { isStopped } = withClock();
    for (let index = 0; index < 1000; index++) expect(isStopped('203.0.113.5')).toBe(false);
  });

  test('recording more failures while stopped does not make the wait longer', () => {
    const { recordMany, isStopped, pass } = withClock();
    recordMany('203.0.113.5', 1000);
    pass(60_000);
    expect(isStopped('203.0.113.5')).toBe(false);
  });

  test.each([
    ['the same IPv4 address', '203.0.113.5', '203.0.113.5', true],
    ['an IPv4 address written as IPv6', '203.0.113.5', '::ffff:203.0.113.5', true],
    ['a neighbour in IPv4', '203.0.113.5', '203.0.113.6', false],
    ['the same IPv6 /64', '2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', true],
    ['another spelling', '2001:db8:1:2::1', '2001:0DB8:0001:0002:0:0:0:9', true],
    ['the next /64', '2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['two texts that are no addresses', 'unknown', 'x', true],
  ])('%s counts together as expected', (_what, one, other, isSame) => {
    const { recordMany, isStopped } = withClock();
    recordMany(one, 30);
    expect(isStopped(other)).toBe(isSame);
  });

  test('any text is taken as an address', () => {
    const { isStopped, record } = withClock();
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string()), (address) => {
        record(address);
        isStopped(address);
      }),
    );
  });

  test('a flood from many addresses does not free the one that is still trying', () => {
    const { recordMany, record, isStopped } = withClock({ maxKeys: 100 });
    recordMany('203.0.113.5', 30);
    for (let index = 0; index < 10_000; index++) {
      record(`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`);
      if (index % 50 === 0) record('203.0.113.5');
    }
    expect(isStopped('203.0.113.5')).toBe(true);
  });
});

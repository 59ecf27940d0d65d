import { UnsecuredJWT } from 'jose';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AccountBlocked } from '../../src/auth/account-blocked.ts';
import { createKnownCredentials } from '../../src/auth/known-credentials.ts';
import type { Viewer } from '../../src/auth/viewer.ts';
import { topics } from '../../src/bus/bus.ts';
import { AppError, type ErrorCode } from '../../src/errors.ts';
import { createAuthentication } from '../../src/http/authentication.ts';
import { newId } from '../../src/ids.ts';
import { createFailedCredentials } from '../../src/limits/failed-credentials.ts';
import { createMemoryRateLimiter } from '../../src/limits/rate-limit.ts';

const CREDENTIAL = { authorization: 'Bearer x', address: '203.0.113.9' };
const account = { userId: newId('User'), tier: 'STARTER', requestsPerMinute: null } as const;
const user = (lifetimeMilliseconds: number): Viewer => ({
  ...account,
  kind: 'user',
  expiresAt: new Date(Date.now() + lifetimeMilliseconds),
});
const apiKey = {
  ...account,
  kind: 'apiKey',
  apiKeyId: newId('ApiKey'),
  projectId: newId('Project'),
  scopes: ['READ'],
  expiresAt: null,
} satisfies Viewer;

/** The result of the next credential checks. */
let refusal: Error | undefined;
/** The user that the next checks return. */
let caller: Viewer;
let isGood: (authorization: string | undefined) => boolean;
let lookups: number;
/** The address that the API key can't be used from. */
let forbidden: string | undefined;
const listeners = new Map<string, () => void>();
const onEnd = vi.fn();

/** The limits don't refill. */
const now = () => 0;

function admit() {
  const rateLimiter = createMemoryRateLimiter({ now });
  return createAuthentication({
    authenticator: {
      async authenticate(authorization, address) {
        lookups += 1;
        if (refusal) throw refusal;
        if (address === forbidden) throw new AppError('FORBIDDEN');
        if (!isGood(authorization)) throw new AppError('UNAUTHENTICATED');
        return caller;
      },
      close: async () => {},
    },
    rateLimiter,
    // No request counts for more than the limit.
    db: { pool: new pg.Pool() },
    failedCredentials: createFailedCredentials({
      rateLimiter,
      scope: 'credentials',
      what: 'credentials',
      failuresPerMinute: 30,
      now,
    }),
    knownCredentials: createKnownCredentials({ now }),
    bus: {
      publish: () => {},
      publishHereFirst: () => {},
      subscribe(topic, listener) {
        listeners.set(topic, listener);
        return () => listeners.delete(topic);
      },
      close: async () => {},
    },
  });
}

const refuse = (code: ErrorCode) => {
  refusal = new AppError(code);
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
  refusal = undefined;
  forbidden = undefined;
  caller = apiKey;
  isGood = () => true;
  lookups = 0;
  onEnd.mockReset();
});

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  expect(listeners.size).toBe(0);
  vi.useRealTimers();
});

describe("watching a stream's credential", () => {
  test('ends the stream when the token expires, and no sooner', async () => {
    caller = user(60_000);
    admit().watch(caller, CREDENTIAL, onEnd);
    await vi.advanceTimersByTimeAsync(59_999);
    expect(onEnd).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(onEnd).toHaveBeenCalledOnce();
  });

  test('ends the stream immediately if the token has already expired', async () => {
    admit().watch(user(-1), CREDENTIAL, onEnd);
    await vi.advanceTimersByTimeAsync(1);
    expect(onEnd).toHaveBeenCalledOnce();
  });

  test("does not end the stream if the token's lifetime exceeds the maximum for a timer", async () => {
    caller = user(50 * 365 * 86_400_000);
    const stop = admit().watch(caller, CREDENTIAL, onEnd);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(onEnd).not.toHaveBeenCalled();
    stop();
  });

  test('ends the stream when the API key expires', async () => {
    admit().watch({ ...apiKey, expiresAt: new Date(Date.now() + 60_000) }, CREDENTIAL, onEnd);
    await vi.advanceTimersByTimeAsync(59_999);
    expect(onEnd).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(onEnd).toHaveBeenCalledOnce();
  });

  test.each([
    ['the scopes of the API key', apiKey, { ...apiKey, scopes: ['DELIVERIES'] }],
    ['the roles of a person', user(60_000), { ...user(60_000), memberships: { [apiKey.projectId]: 'VIEWER' } }],
  ] as [string, Viewer, Viewer][])(
    'ends the stream within five seconds when %s change',
    async (_what, before, after) => {
      caller = before;
      admit().watch(before, CREDENTIAL, onEnd);
      await vi.advanceTimersByTimeAsync(5_000);
      expect(onEnd).not.toHaveBeenCalled();
      caller = after;
      await vi.advanceTimersByTimeAsync(5_000);
      expect(onEnd).toHaveBeenCalledOnce();
    },
  );

  test('ends the stream when it is notified that the API key was revoked', async () => {
    admit().watch(apiKey, CREDENTIAL, onEnd);
    await vi.advanceTimersByTimeAsync(0);
    refuse('UNAUTHENTICATED');
    listeners.get(topics.apiKeyRevoked(apiKey.apiKeyId))!();
    await vi.advanceTimersByTimeAsync(0);
    expect(onEnd).toHaveBeenCalledOnce();
  });

  test('ends the stream if the API key was revoked between its check and the watch', async () => {
    refuse('UNAUTHENTICATED');
    admit().watch(apiKey, CREDENTIAL, onEnd);
    await vi.advanceTimersByTimeAsync(0);
    expect(onEnd).toHaveBeenCalledOnce();
  });

  test.each([
    ['an API key', () => apiKey],
    ['a user', () => user(60_000)],
  ])('notices without a notification that %s is no longer valid', async (_name, viewer) => {
    admit().watch(viewer(), CREDENTIAL, onEnd);
    await vi.advanceTimersByTimeAsync(4_999);
    refuse('UNAUTHENTICATED');
    await vi.advanceTimersByTimeAsync(1);
    expect(onEnd).toHaveBeenCalledOnce();
  });

  test('checks a credential once for all of its streams, and ends them all', async () => {
    const authentication = admit();
    const ends = Array.from({ length: 20 }, () => vi.fn());
    const stops = ends.map((end) => authentication.watch(apiKey, CREDENTIAL, end));
    const other = vi.fn();
    const credential = { ...CREDENTIAL, authorization: 'Bearer y' };
    const stopOther = authentication.watch({ ...apiKey, apiKeyId: newId('ApiKey') }, credential, other);
    await vi.advanceTimersByTimeAsync(0);
    const before = lookups;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(lookups - before).toBe(2);
    stops[0]!();
    isGood = (authorization) => authorization === 'Bearer y';
    await vi.advanceTimersByTimeAsync(5_000);
    expect(ends.map((end) => end.mock.calls.length)).toEqual([0, ...Array.from({ length: 19 }, () => 1)]);
    expect(other).not.toHaveBeenCalled();
    stopOther();
  });

  test('checks the same credential separately for each address', async () => {
    const addresses = ['203.0.113.9', '198.51.100.7'];
    const ends = addresses.map(() => vi.fn());
    const authentication = admit();
    const stops = addresses.map((address, index) =>
      authentication.watch(apiKey, { ...CREDENTIAL, address }, ends[index]!),
    );
    forbidden = '198.51.100.7';
    await vi.advanceTimersByTimeAsync(5_000);
    expect(ends.map((end) => end.mock.calls)).toEqual([[], [['credential']]]);
    for (const stop of stops) stop();
  });

  test('leaves the stream open while the credential cannot be checked', async () => {
    const stop = admit().watch(apiKey, CREDENTIAL, onEnd);
    refuse('UNAVAILABLE');
    await vi.advanceTimersByTimeAsync(20_000);
    refusal = new Error('the database is unavailable');
    await vi.advanceTimersByTimeAsync(20_000);
    expect(onEnd).not.toHaveBeenCalled();
    stop();
  });

  test('neither checks nor ends anything once it is stopped', async () => {
    const stop = admit().watch(apiKey, CREDENTIAL, onEnd);
    await vi.advanceTimersByTimeAsync(0);
    stop();
    const before = lookups;
    refuse('UNAUTHENTICATED');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(lookups).toBe(before);
    expect(onEnd).not.toHaveBeenCalled();
  });

  test('ignores a check that completes after it was stopped', async () => {
    const stop = admit().watch(apiKey, CREDENTIAL, onEnd);
    refuse('UNAUTHENTICATED');
    listeners.get(topics.apiKeyRevoked(apiKey.apiKeyId))!();
    stop();
    await vi.advanceTimersByTimeAsync(0);
    expect(onEnd).not.toHaveBeenCalled();
  });
});

describe('authentication', () => {
  test('counts bad credentials per address, but not missing ones', async () => {
    const authentication = admit();
    refuse('UNAUTHENTICATED');
    const knock = (authorization: string | undefined, address: string) =>
      authentication.identify(authorization, address).catch((error: AppError) => error.code);
    for (let count = 0; count < 60; count++) await knock(undefined, '198.51.100.1');
    expect(await knock('Bearer x', '198.51.100.1')).toBe('UNAUTHENTICATED');
    for (let count = 0; count < 30; count++) await knock('Bearer x', '198.51.100.1');
    const before = lookups;
    expect(await knock('Bearer x', '198.51.100.1')).toBe('RATE_LIMITED');
    expect(lookups).toBe(before);
    expect(await knock('Bearer x', '198.51.100.2')).toBe('UNAUTHENTICATED');
  });

  test('checks thirty of five hundred concurrent bad credentials, and always checks a known good one', async () => {
    const authentication = admit();
    const knock = (authorization: string) =>
      authentication.identify(authorization, '198.51.100.1').then(
        () => 'good',
        (error: AppError) => error.code,
      );
    expect(await knock('Bearer good')).toBe('good');
    isGood = (authorization) => authorization === 'Bearer good';
    lookups = 0;

    const bad = Array.from({ length: 500 }, (_, index) => knock(`Bearer bad${index}`));
    const good = Array.from({ length: 50 }, () => knock('Bearer good'));

    expect(new Set(await Promise.all(good))).toEqual(new Set(['good']));
    const responses = await Promise.all(bad);
    expect(responses.filter((code) => code === 'UNAUTHENTICATED')).toHaveLength(30);
    expect(responses.filter((code) => code === 'RATE_LIMITED')).toHaveLength(470);
    expect(lookups).toBe(80);
  });

  test('accepts a hundred concurrent good credentials from one address', async () => {
    const authentication = admit();
    const knocks = Array.from({ length: 100 }, (_, index) =>
      authentication.identify(`Bearer ${index}`, '198.51.100.1'),
    );
    await expect(Promise.all(knocks)).resolves.toHaveLength(100);
  });

  test('accepts a new token from a user known at an address, even while the address is blocked', async () => {
    const authentication = admit();
    const tokenOf = (sub: string, jti: number) =>
      `Bearer ${new UnsecuredJWT({ iss: 'https://i', sub, jti: String(jti) }).encode()}`;
    const knock = (authorization: string, address = '198.51.100.1') =>
      authentication.identify(authorization, address).then(
        () => 'good',
        (error: AppError) => error.code,
      );
    expect(await knock(tokenOf('alice', 1))).toBe('good');
    isGood = (authorization) => authorization === tokenOf('alice', 2);
    for (let count = 0; count < 31; count++) await knock(`Bearer ${count}`);
    expect(await knock(tokenOf('bob', 1))).toBe('RATE_LIMITED');
    expect(await knock(tokenOf('alice', 2))).toBe('good');
    // The number of checks is limited per user, just as it is per address.
    const forged = await Promise.all(Array.from({ length: 100 }, (_, index) => knock(tokenOf('alice', index + 3))));
    expect(forged.filter((code) => code === 'UNAUTHENTICATED')).toHaveLength(30);
    expect(await knock(tokenOf('alice', 2))).toBe('good');
  });

  test('forgets a credential that is no longer valid', async () => {
    const authentication = admit();
    const knock = () => authentication.identify('Bearer x', '198.51.100.1').catch((error: AppError) => error.code);
    await knock();
    refuse('UNAUTHENTICATED');
    const codes = [];
    for (let count = 0; count < 31; count++) codes.push(await knock());
    expect(codes.filter((code) => code === 'UNAUTHENTICATED')).toHaveLength(30);
    expect(codes.at(-1)).toBe('RATE_LIMITED');
  });

  test('counts a credential that is no longer valid once, even if a hundred concurrent requests use it', async () => {
    const authentication = admit();
    await authentication.identify('Bearer old', '198.51.100.1');
    isGood = (authorization) => authorization === 'Bearer new';
    const knocks = Array.from({ length: 100 }, () => authentication.identify('Bearer old', '198.51.100.1'));
    const outcomes = await Promise.allSettled(knocks);
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
    await expect(authentication.identify('Bearer new', '198.51.100.1')).resolves.toBe(caller);
  });

  test.each([
    ['an API key at an address where it can’t be used', 'FORBIDDEN'],
    ['a blocked account', 'ACCOUNT_BLOCKED'],
  ] as const)('checks the credential of %s thirty times a minute, without blocking others', async (_whose, code) => {
    const authentication = admit();
    const knock = (authorization: string, address = '198.51.100.1') =>
      authentication.identify(authorization, address).then(
        () => 'good',
        (error: AppError) => error.code,
      );
    expect(await knock('Bearer x', '203.0.113.9')).toBe('good');
    refuse(code);
    expect(await knock('Bearer x')).toBe(code);
    lookups = 0;
    const codes = await Promise.all(Array.from({ length: 100 }, () => knock('Bearer x')));
    expect(codes.filter((one) => one === code)).toHaveLength(30);
    expect(codes.filter((one) => one === 'RATE_LIMITED')).toHaveLength(70);
    expect(lookups).toBe(30);
    refusal = undefined;
    expect(await knock('Bearer y')).toBe('good');
    expect(await knock('Bearer x', '203.0.113.9')).toBe('good');
  });

  test.each([
    ['each of the API keys', (index: number) => `Bearer tg_live_${index}`, [50, 30]],
    [
      'one of the tokens',
      (index: number) => `Bearer ${new UnsecuredJWT({ iss: 'https://i', sub: 'alice', jti: `${index}` }).encode()}`,
      [31, 0],
    ],
  ] as const)(
    'checks %s of a blocked account once, and all together thirty times a minute',
    async (_what, credentialOf, counts) => {
      const authentication = admit();
      refusal = new AccountBlocked(account.userId, 'abuse');
      const knock = (index: number) =>
        authentication.identify(credentialOf(index), '198.51.100.1').then(
          () => 'good',
          (error: AppError) => error.code,
        );
      for (const count of counts) {
        lookups = 0;
        for (let index = 0; index < 50; index++) await knock(index);
        expect(lookups).toBe(count);
      }
      expect(await knock(0)).toBe('RATE_LIMITED');
      refusal = undefined;
      expect(await authentication.identify('Bearer y', '198.51.100.1')).toBe(caller);
    },
  );

  const SPELLINGS = [
    ['the number of spaces', (index: number) => `Bearer${' '.repeat(index + 1)}a`],
    ['uppercase letters in the scheme', (index: number) => `${index % 2 ? 'bearer' : 'BEARER'} a`],
  ] as const;

  test.each(SPELLINGS)('a refused credential counts as the same one if only %s differs', async (_what, spellingOf) => {
    const authentication = admit();
    const knock = (index: number) =>
      authentication.identify(spellingOf(index), '198.51.100.1').catch((error: AppError) => error.code);
    refuse('FORBIDDEN');
    await knock(0);
    const codes = [];
    for (let index = 1; index <= 100; index++) codes.push(await knock(index));
    expect(codes.filter((code) => code === 'FORBIDDEN')).toHaveLength(30);
    expect(codes.filter((code) => code === 'RATE_LIMITED')).toHaveLength(70);
  });

  test('a credential that is spelled in 20,000 ways doesn’t replace others that are known', async () => {
    const authentication = admit();
    const knock = (authorization: string, address: string) =>
      authentication.identify(authorization, address).then(
        () => 'good',
        (error: AppError) => error.code,
      );
    expect(await knock('Bearer victim', '198.51.100.1')).toBe('good');
    for (let index = 0; index < 20_100; index++) await knock(`Bearer${' '.repeat(index + 1)}a`, '198.51.100.2');
    isGood = (authorization) => authorization === 'Bearer victim';
    for (let index = 0; index < 31; index++) await knock(`Bearer ${index}`, '198.51.100.1');
    expect(await knock('Bearer victim', '198.51.100.1')).toBe('good');
  });

  test('a token whose subject is nested thousands of levels deep is rejected like any other', async () => {
    const authentication = admit();
    refuse('UNAUTHENTICATED');
    const sub = '['.repeat(100_000) + ']'.repeat(100_000);
    const payload = Buffer.from(`{"iss":"https://i","sub":${sub}}`).toString('base64url');
    const knock = authentication.identify(`Bearer e30.${payload}.`, '198.51.100.1');
    await expect(knock).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  test('does not count failures of the service against an address', async () => {
    const authentication = admit();
    refuse('UNAVAILABLE');
    for (let count = 0; count < 60; count++) {
      await expect(authentication.identify('Bearer x', '198.51.100.1')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    }
  });
});

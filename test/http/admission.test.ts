import { UnsecuredJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createKnownCredentials } from '../../src/auth/known-credentials.ts';
import type { Viewer } from '../../src/auth/viewer.ts';
import { topics } from '../../src/bus/bus.ts';
import { AppError, type ErrorCode } from '../../src/errors.ts';
import { createAdmission } from '../../src/http/admission.ts';
import { newId } from '../../src/ids.ts';
import { createFailedCredentials } from '../../src/limits/failed-credentials.ts';
import { createMemoryRateLimiter } from '../../src/limits/rate-limit.ts';

const account = { userId: newId('User'), tier: 'STARTER', requestsPerMinute: null } as const;
const user = (lifetimeMilliseconds: number): Viewer => ({
  ...account,
  kind: 'user',
  expiresAt: new Date(Date.now() + lifetimeMilliseconds),
});
const apiKey: Viewer = {
  ...account,
  kind: 'apiKey',
  apiKeyId: newId('ApiKey'),
  projectId: newId('Project'),
  expiresAt: null,
};

/** What becomes of the credential when it is looked at. */
let refusal: Error | undefined;
let isGood: (authorization: string | undefined) => boolean;
let lookups: number;
const listeners = new Map<string, () => void>();
const onEnd = vi.fn();

function admit() {
  const rateLimiter = createMemoryRateLimiter();
  return createAdmission({
    authenticator: {
      async authenticate(authorization) {
        lookups += 1;
        if (refusal) throw refusal;
        if (!isGood(authorization)) throw new AppError('UNAUTHENTICATED');
        return apiKey;
      },
      close: async () => {},
    },
    rateLimiter,
    failedCredentials: createFailedCredentials({
      ...{ rateLimiter, scope: 'credentials', what: 'credentials', failuresPerMinute: 30 },
    }),
    knownCredentials: createKnownCredentials(),
    bus: {
      publish: () => {},
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
  isGood = () => true;
  lookups = 0;
  onEnd.mockReset();
});

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  expect(listeners.size).toBe(0);
  vi.useRealTimers();
});

describe('watching the credential of a stream', () => {
  test('ends it when the token expires, and not before', async () => {
    admit().watch(user(60_000), 'Bearer x', onEnd);
    await vi.advanceTimersByTimeAsync(59_999);
    expect(onEnd).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(onEnd).toHaveBeenCalledOnce();
  });

  test('ends it at once when the token has expired already', async () => {
    admit().watch(user(-1), 'Bearer x', onEnd);
    await vi.advanceTimersByTimeAsync(1);
    expect(onEnd).toHaveBeenCalledOnce();
  });

  test('does not end a token of many years, whose lifetime is longer than a timer', async () => {
    const stop = admit().watch(user(50 * 365 * 86_400_000), 'Bearer x', onEnd);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(onEnd).not.toHaveBeenCalled();
    stop();
  });

  test('ends it when it is told that the key was revoked', async () => {
    admit().watch(apiKey, 'Bearer x', onEnd);
    await vi.advanceTimersByTimeAsync(0);
    refuse('UNAUTHENTICATED');
    listeners.get(topics.apiKeyRevoked(apiKey.apiKeyId))!();
    await vi.advanceTimersByTimeAsync(0);
    expect(onEnd).toHaveBeenCalledOnce();
  });

  test('ends it when the key was revoked between its check and the watch', async () => {
    refuse('UNAUTHENTICATED');
    admit().watch(apiKey, 'Bearer x', onEnd);
    await vi.advanceTimersByTimeAsync(0);
    expect(onEnd).toHaveBeenCalledOnce();
  });

  test.each([
    ['a key', () => apiKey],
    ['a user', () => user(60_000)],
  ])('notices by itself that %s is no longer good, without being told', async (_name, viewer) => {
    admit().watch(viewer(), 'Bearer x', onEnd);
    await vi.advanceTimersByTimeAsync(4_999);
    refuse('UNAUTHENTICATED');
    await vi.advanceTimersByTimeAsync(1);
    expect(onEnd).toHaveBeenCalledOnce();
  });

  test('leaves it open while the credential cannot be checked', async () => {
    const stop = admit().watch(apiKey, 'Bearer x', onEnd);
    refuse('UNAVAILABLE');
    await vi.advanceTimersByTimeAsync(20_000);
    refusal = new Error('the database is away');
    await vi.advanceTimersByTimeAsync(20_000);
    expect(onEnd).not.toHaveBeenCalled();
    stop();
  });

  test('ends nothing and looks at nothing once it is stopped', async () => {
    const stop = admit().watch(apiKey, 'Bearer x', onEnd);
    await vi.advanceTimersByTimeAsync(0);
    stop();
    const before = lookups;
    refuse('UNAUTHENTICATED');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(lookups).toBe(before);
    expect(onEnd).not.toHaveBeenCalled();
  });

  test('a check that comes back after it was stopped ends nothing', async () => {
    const stop = admit().watch(apiKey, 'Bearer x', onEnd);
    refuse('UNAUTHENTICATED');
    listeners.get(topics.apiKeyRevoked(apiKey.apiKeyId))!();
    stop();
    await vi.advanceTimersByTimeAsync(0);
    expect(onEnd).not.toHaveBeenCalled();
  });
});

describe('the door', () => {
  test('counts bad credentials of an address, and not missing ones', async () => {
    const admission = admit();
    refuse('UNAUTHENTICATED');
    const knock = (authorization: string | undefined, address: string) =>
      admission.identify(authorization, address).catch((error: AppError) => error.code);
    for (let count = 0; count < 60; count++) await knock(undefined, '198.51.100.1');
    expect(await knock('Bearer x', '198.51.100.1')).toBe('UNAUTHENTICATED');
    for (let count = 0; count < 30; count++) await knock('Bearer x', '198.51.100.1');
    const before = lookups;
    expect(await knock('Bearer x', '198.51.100.1')).toBe('RATE_LIMITED');
    expect(lookups).toBe(before);
    expect(await knock('Bearer x', '198.51.100.2')).toBe('UNAUTHENTICATED');
  });

  test('looks at thirty of five hundred bad credentials that come at once, and at a good one it knows all the while', async () => {
    const admission = admit();
    const knock = (authorization: string) =>
      admission.identify(authorization, '198.51.100.1').then(
        () => 'good',
        (error: AppError) => error.code,
      );
    expect(await knock('Bearer good')).toBe('good');
    isGood = (authorization) => authorization === 'Bearer good';
    lookups = 0;

    const bad = Array.from({ length: 500 }, (_, index) => knock(`Bearer bad${index}`));
    const good = Array.from({ length: 50 }, () => knock('Bearer good'));

    expect(new Set(await Promise.all(good))).toEqual(new Set(['good']));
    const answers = await Promise.all(bad);
    expect(answers.filter((code) => code === 'UNAUTHENTICATED')).toHaveLength(30);
    expect(answers.filter((code) => code === 'RATE_LIMITED')).toHaveLength(470);
    expect(lookups).toBe(80);
  });

  test('lets a hundred good credentials in that come at once from one address', async () => {
    const admission = admit();
    const knocks = Array.from({ length: 100 }, (_, index) => admission.identify(`Bearer ${index}`, '198.51.100.1'));
    await expect(Promise.all(knocks)).resolves.toHaveLength(100);
  });

  test('lets the next token of somebody in whom it knows at that address, while the address is stopped', async () => {
    const admission = admit();
    const tokenOf = (sub: string, jti: number) =>
      `Bearer ${new UnsecuredJWT({ iss: 'https://i', sub, jti: String(jti) }).encode()}`;
    const knock = (authorization: string, address = '198.51.100.1') =>
      admission.identify(authorization, address).then(
        () => 'good',
        (error: AppError) => error.code,
      );
    expect(await knock(tokenOf('alice', 1))).toBe('good');
    isGood = (authorization) => authorization === tokenOf('alice', 2);
    for (let count = 0; count < 31; count++) await knock(`Bearer ${count}`);
    expect(await knock(tokenOf('bob', 1))).toBe('RATE_LIMITED');
    expect(await knock(tokenOf('alice', 2))).toBe('good');
    // In her name no more is looked at than in that of an address.
    const forged = await Promise.all(Array.from({ length: 100 }, (_, index) => knock(tokenOf('alice', index + 3))));
    expect(forged.filter((code) => code === 'UNAUTHENTICATED')).toHaveLength(30);
    expect(await knock(tokenOf('alice', 2))).toBe('good');
  });

  test('forgets a credential that is not good any more', async () => {
    const admission = admit();
    const knock = () => admission.identify('Bearer x', '198.51.100.1').catch((error: AppError) => error.code);
    await knock();
    refuse('UNAUTHENTICATED');
    const codes = [];
    for (let count = 0; count < 31; count++) codes.push(await knock());
    expect(codes.filter((code) => code === 'UNAUTHENTICATED')).toHaveLength(30);
    expect(codes.at(-1)).toBe('RATE_LIMITED');
  });

  test('does not hold it against an address that the service could not check', async () => {
    const admission = admit();
    refuse('UNAVAILABLE');
    for (let count = 0; count < 60; count++) {
      await expect(admission.identify('Bearer x', '198.51.100.1')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    }
  });
});

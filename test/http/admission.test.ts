import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Viewer } from '../../src/auth/viewer.ts';
import { AppError, type ErrorCode } from '../../src/errors.ts';
import { createAdmission } from '../../src/http/admission.ts';
import { newId } from '../../src/ids.ts';
import { createFailedCredentials } from '../../src/limits/failed-credentials.ts';
import { createMemoryRateLimiter } from '../../src/limits/rate-limit.ts';
import { topics } from '../../src/live/bus.ts';

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
let lookups: number;
const listeners = new Map<string, () => void>();
const onEnd = vi.fn();

function admit() {
  return createAdmission({
    authenticator: {
      async authenticate() {
        lookups += 1;
        if (refusal) throw refusal;
        return apiKey;
      },
      close: async () => {},
    },
    rateLimiter: createMemoryRateLimiter(),
    failedCredentials: createFailedCredentials(),
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

  test('does not hold it against an address that the service could not check', async () => {
    const admission = admit();
    refuse('UNAVAILABLE');
    for (let count = 0; count < 60; count++) {
      await expect(admission.identify('Bearer x', '198.51.100.1')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    }
  });
});

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Authenticator, Viewer } from '../../src/auth/viewer.ts';
import { type Bus, topics } from '../../src/bus/bus.ts';
import { AppError } from '../../src/errors.ts';
import { createCredentialWatch } from '../../src/http/credential-watch.ts';

const KEY: Viewer = {
  kind: 'apiKey',
  apiKeyId: 'key_1',
  projectId: 'prj_1',
  userId: 'usr_1',
  tier: 'PRO',
  requestsPerMinute: null,
  scopes: ['READ'],
  expiresAt: null,
};

const CREDENTIAL = { authorization: 'Bearer tg_live_1', address: '203.0.113.9' };

/** A watch whose credential can be revoked, on a bus that delivers hints immediately. */
function createWorld() {
  let isValid = true;
  const listeners = new Map<string, () => void>();
  const bus: Bus = {
    publish: (topic) => listeners.get(topic)?.(),
    publishHereFirst: (topic) => listeners.get(topic)?.(),
    subscribe(topic, listener) {
      listeners.set(topic, listener);
      return () => listeners.delete(topic);
    },
    close: async () => {},
  };
  const authenticator = {
    async authenticate() {
      if (!isValid) throw new AppError('UNAUTHENTICATED');
      return KEY;
    },
  } as unknown as Authenticator;
  const onEnd = vi.fn();
  const stop = createCredentialWatch({ authenticator, bus })(KEY, CREDENTIAL, onEnd);
  return {
    bus,
    onEnd,
    stop,
    revoke: () => {
      isValid = false;
    },
  };
}

describe('the credential of an open stream', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test.each([
    ['it is revoked', topics.apiKeyRevoked('key_1')],
    ['its account is blocked', topics.accountBlocked('usr_1')],
  ])('ends the stream as soon as a hint says that %s, without waiting for the next check', async (_case, topic) => {
    const { bus, onEnd, revoke } = createWorld();
    revoke();
    bus.publish(topic);
    await vi.waitFor(() => expect(onEnd).toHaveBeenCalledExactlyOnceWith('credential'));
  });

  test('ends the stream at the next check if the hint is lost', async () => {
    const { onEnd, revoke } = createWorld();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(onEnd).not.toHaveBeenCalled();
    revoke();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(onEnd).toHaveBeenCalledExactlyOnceWith('credential');
  });

  test('is no longer checked after the stream has ended', async () => {
    const { onEnd, revoke, stop } = createWorld();
    stop();
    revoke();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(onEnd).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });
});

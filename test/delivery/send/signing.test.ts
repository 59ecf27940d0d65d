import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { newWebhookSecret, signWebhook } from '../../../src/delivery/send/signing.ts';

const headersOf = (id: string, timestampSeconds: number, signature: string) => ({
  'webhook-id': id,
  'webhook-timestamp': String(timestampSeconds),
  'webhook-signature': signature,
});

describe('signWebhook', () => {
  test('returns the signature of the Standard Webhooks example', () => {
    const signature = signWebhook({
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      timestampSeconds: 1614265330,
      body: '{"test": 2432232314}',
      secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    });
    expect(signature).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });

  test('makes signatures that the official library accepts for any JSON, with the new and the old secret', () => {
    fc.assert(
      fc.property(fc.json(), fc.stringMatching(/^evt_[a-z0-9]{1,26}$/), (body, id) => {
        const secrets = [newWebhookSecret(), newWebhookSecret()];
        const timestampSeconds = Math.floor(Date.now() / 1000);
        const signature = signWebhook({ id, timestampSeconds, body, secrets });
        for (const secret of secrets) {
          const verified = new Webhook(secret).verify(body, headersOf(id, timestampSeconds, signature));
          expect(verified).toEqual(JSON.parse(body));
        }
      }),
    );
  });

  test('makes a signature that is invalid if any part of the message changes', () => {
    const secret = newWebhookSecret();
    const timestampSeconds = Math.floor(Date.now() / 1000);
    const signature = signWebhook({ id: 'evt_1', timestampSeconds, body: '{"a":1}', secrets: [secret] });
    const verify = (id: string, seconds: number, body: string) =>
      new Webhook(secret).verify(body, headersOf(id, seconds, signature));
    expect(verify('evt_1', timestampSeconds, '{"a":1}')).toEqual({ a: 1 });
    expect(() => verify('evt_2', timestampSeconds, '{"a":1}')).toThrow();
    expect(() => verify('evt_1', timestampSeconds + 1, '{"a":1}')).toThrow();
    expect(() => verify('evt_1', timestampSeconds, '{"a": 1}')).toThrow();
  });
});

describe('newWebhookSecret', () => {
  test('returns whsec_ and 32 bytes, different every time', () => {
    const secrets = Array.from({ length: 100 }, newWebhookSecret);
    expect(new Set(secrets).size).toBe(100);
    for (const secret of secrets) {
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      expect(Buffer.from(secret.slice(6), 'base64')).toHaveLength(32);
    }
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { storedBody, storedMessage } from '../../../src/delivery/send/response-text.ts';

describe('storedBody', () => {
  test('is null for an empty body', () => {
    expect(storedBody(whole(Buffer.alloc(0)), [], 'account')).toBeNull();
  });

  test('is text that PostgreSQL can store, up to 16 KB, for any bytes', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 70_000, size: 'max' }),
        fc.boolean(),
        (bytes, bodyTruncated) => {
          const text = storedBody({ body: Buffer.from(bytes), bodyTruncated }, [], 'account')!;
          expect(text.isWellFormed()).toBe(true);
          expect(text).not.toContain('\0');
          expect(Buffer.byteLength(text)).toBeLessThanOrEqual(16_384);
        },
      ),
      { numRuns: 30 },
    );
  });

  test('does not split a character', () => {
    const text = storedBody(whole(`a${'€'.repeat(10_000)}`), [], 'account')!;
    expect(text).toBe(`a${'€'.repeat(5_461)}`);
  });

  test('masks secrets, including one that is cut off at the end', () => {
    const secret = 'sk_live_0123456789abcdef';
    const text = storedBody(whole(`${'x'.repeat(16_370)}${secret}`), [secret], 'account')!;
    expect(text).not.toContain('sk_live');
    expect(storedBody(whole(`{"token":"${secret}"}`), [secret], 'account')).toBe('{"token":"••••"}');
  });

  test.each([
    ['plain', 'sk_live_0123456789abcdef', 'sk_live_0123456789abcde'],
    ['escaped', 'a"b\nc-0123456789', String.raw`a\"b\nc-01234`],
    ['in base64', 'user:password-of-the-user', btoa('user:password-of-the-user').slice(0, 20)],
    ['cut inside a character', 'pass-ü-word', Buffer.from('pass-ü').subarray(0, -1)],
  ])('masks the beginning of a secret, %s, if the rest of the body was not read', (_how, secret, beginning) => {
    const read = (start: string) => Buffer.concat([Buffer.from(start), Buffer.from(beginning)]);
    const body = read(`${'\0'.repeat(60_000)}key: `);
    expect(storedBody({ body, bodyTruncated: true }, [secret], 'account')).toBe('key: ••••');
    expect(storedBody({ body: read(secret), bodyTruncated: true }, [secret], 'account')).toMatch(/^(?:••••)+$/);
  });
});

const whole = (body: string | Buffer) => ({ body: Buffer.from(body), bodyTruncated: false });

describe('storedMessage', () => {
  test('masks secrets and limits the length', () => {
    expect(storedMessage('Key abcdefgh12345678 was\0 refused.', ['abcdefgh12345678'])).toBe('Key •••• was refused.');
    expect(storedMessage('x'.repeat(1_000), [])).toHaveLength(500);
  });
});

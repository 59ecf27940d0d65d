import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { storedBody, storedMessage } from '../../../src/delivery/send/response-text.ts';

describe('storedBody', () => {
  test('is null for an empty body', () => {
    expect(storedBody(Buffer.alloc(0), [], 'account')).toBeNull();
  });

  test('is text that PostgreSQL can store, up to 16 KB, for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 70_000, size: 'max' }), (bytes) => {
        const text = storedBody(Buffer.from(bytes), [], 'account')!;
        expect(text.isWellFormed()).toBe(true);
        expect(text).not.toContain('\0');
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(16_384);
      }),
      { numRuns: 30 },
    );
  });

  test('does not split a character', () => {
    const text = storedBody(Buffer.from(`a${'€'.repeat(10_000)}`), [], 'account')!;
    expect(text).toBe(`a${'€'.repeat(5_461)}`);
  });

  test('masks secrets, including one that is cut off at the end', () => {
    const secret = 'sk_live_0123456789abcdef';
    const text = storedBody(Buffer.from(`${'x'.repeat(16_370)}${secret}`), [secret], 'account')!;
    expect(text).not.toContain('sk_live');
    expect(storedBody(Buffer.from(`{"token":"${secret}"}`), [secret], 'account')).toBe('{"token":"••••"}');
  });
});

describe('storedMessage', () => {
  test('masks secrets and limits the length', () => {
    expect(storedMessage('Key abcdefgh12345678 was\0 refused.', ['abcdefgh12345678'])).toBe('Key •••• was refused.');
    expect(storedMessage('x'.repeat(1_000), [])).toHaveLength(500);
  });
});

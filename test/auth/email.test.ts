import { describe, expect, test } from 'vitest';
import { normalEmail } from '../../src/auth/email.ts';

describe('an email address', () => {
  test.each([
    ['Bob@Example.COM', 'bob@example.com'],
    ['bob+shop@example.com', 'bob+shop@example.com'],
    ['b.o.b@example.com', 'b.o.b@example.com'],
  ])('%s is compared as %s', (text, expected) => {
    expect(normalEmail(text)).toBe(expected);
  });

  test.each([
    ['a letter that becomes ASCII in lowercase', '\u212Aevin@example.com'],
    ['a Cyrillic letter', 'b\u043Eb@example.com'],
    ['a domain that is not ASCII', 'bob@ex\u00E4mple.com'],
    ['an invisible character', 'bob\u200B@example.com'],
    ['a line break', 'bob@example.com\n'],
    ['two addresses', 'bob@example.com,eve@example.com'],
    ['a display name', 'Bob <bob@example.com>'],
    ['no domain', 'bob'],
    ['more than 254 characters', `${'b'.repeat(250)}@example.com`],
  ])('is rejected if it has %s', (_what, text) => {
    expect(normalEmail(text)).toBeUndefined();
  });
});

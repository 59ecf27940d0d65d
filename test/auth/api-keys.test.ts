import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { apiKeyHashes, looksLikeApiKey, newApiKey, parseApiKey } from '../../src/auth/api-keys.ts';
import { parseKeyring } from '../../src/secrets/keyring.ts';

const SCANNER_PATTERN = /\btg_(live|test)_[0-9A-Za-z]{49}\b/;
const OLD = `old:${randomBytes(32).toString('base64')}`;
const NEW = `new:${randomBytes(32).toString('base64')}`;

describe('an API key', () => {
  test.each(['LIVE', 'TEST'] as const)(
    'has the prefix of its environment (%s), a fixed length, and a correct checksum',
    (environment) => {
      for (let index = 0; index < 1000; index++) {
        const key = newApiKey(environment);
        expect(key).toHaveLength(57);
        expect(key.startsWith(`tg_${environment.toLowerCase()}_`)).toBe(true);
        expect(key).toMatch(SCANNER_PATTERN);
        expect(parseApiKey(key)).toEqual({ environment });
      }
    },
  );

  test('has a checksum that does not change between versions', () => {
    expect(parseApiKey(`tg_test_${'0'.repeat(43)}3waIaM`)).toEqual({ environment: 'TEST' });
  });

  test('is unique among ten thousand new keys', () => {
    expect(new Set(Array.from({ length: 10_000 }, () => newApiKey('LIVE'))).size).toBe(10_000);
  });

  test('is rejected if it has one changed character, two swapped characters, or the wrong prefix', () => {
    const alphabet = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'];
    fc.assert(
      fc.property(fc.integer({ min: 8, max: 56 }), fc.constantFrom(...alphabet), (at, character) => {
        const key = newApiKey('LIVE');
        const changed = key.slice(0, at) + character + key.slice(at + 1);
        expect(parseApiKey(changed) === undefined).toBe(changed !== key);
        const swapped = key.slice(0, at - 1) + key[at] + key[at - 1] + key.slice(at + 1);
        expect(parseApiKey(swapped) === undefined).toBe(swapped !== key);
        expect(parseApiKey(key.replace('live', 'test'))).toBeUndefined();
      }),
      { numRuns: 1000 },
    );
  });

  test.each([
    (key: string) => `${key}\n`,
    (key: string) => ` ${key}`,
    (key: string) => key.slice(0, -1),
    (key: string) => `${key}0`,
    (key: string) => key.toUpperCase(),
    () => '',
    () => 'tg_live_',
  ])('is rejected if it has the wrong format (%#)', (change) => {
    expect(parseApiKey(change(newApiKey('LIVE')))).toBeUndefined();
  });

  test('is distinguished from a token by its first characters', () => {
    expect(looksLikeApiKey('tg_live_mistyped')).toBe(true);
    expect(looksLikeApiKey('eyJhbGciOiJFUzI1NiJ9.e30.AAAA')).toBe(false);
  });
});

describe("an API key's hash", () => {
  test('includes the ID of its keyring key, reveals nothing about the API key, and is deterministic', () => {
    const keyring = parseKeyring(NEW);
    const key = newApiKey('LIVE');
    const [hash] = apiKeyHashes(key, keyring);
    expect(hash).toMatch(/^new\$[0-9a-f]{64}$/);
    expect(apiKeyHashes(key, keyring)).toEqual([hash]);
    expect(apiKeyHashes(newApiKey('LIVE'), keyring)).not.toEqual([hash]);
  });

  test('is computed with every key of the keyring, the current one first', () => {
    const key = newApiKey('LIVE');
    const [old] = apiKeyHashes(key, parseKeyring(OLD));
    const [current] = apiKeyHashes(key, parseKeyring(NEW));
    expect(apiKeyHashes(key, parseKeyring(`${NEW},${OLD}`))).toEqual([current, old]);
    expect(apiKeyHashes(key, parseKeyring(`${OLD},${NEW}`))).toEqual([old, current]);
  });
});

import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseKeyring } from '../../src/secrets/keyring.ts';
import { createSecretBox, type SealContext } from '../../src/secrets/secret-box.ts';

const OLD = `old:${randomBytes(32).toString('base64')}`;
const NEW = `new:${randomBytes(32).toString('base64')}`;
const box = createSecretBox(parseKeyring(NEW));
const CONTEXT: SealContext = { table: 'Webhook', column: 'secret', rowId: 'wh_1', projectId: 'proj_1' };

// Characters that would make the parts ambiguous if they were joined carelessly.
const part = fc.string({ unit: fc.constantFrom('a', 'b', '|', '"', ',', '\\', '\0', '.'), maxLength: 6 });
const context = fc.record({ table: part, column: part, rowId: part, projectId: part });

describe('the secret box', () => {
  test('opens what it sealed, and never seals the same text to the same ciphertext', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), context, (plaintext, place) => {
        const sealed = box.seal(plaintext, place);
        expect(box.open(sealed, place)).toBe(plaintext);
        expect(sealed).toMatch(/^v1\.new\.[\w-]{16}\.[\w-]*\.[\w-]{22}$/);
        expect(box.seal(plaintext, place)).not.toBe(sealed);
      }),
    );
  });

  test('opens a secret only in its own cell', () => {
    fc.assert(
      fc.property(context, context, (place, other) => {
        fc.pre(JSON.stringify(place) !== JSON.stringify(other));
        expect(() => box.open(box.seal('secret', place), other)).toThrow('cannot be decrypted');
      }),
    );
  });

  test('does not open ciphertexts that were swapped between rows, columns, or projects', () => {
    const neighbours: SealContext[] = [
      { ...CONTEXT, rowId: 'wh_2' },
      { ...CONTEXT, column: 'previousSecret' },
      { ...CONTEXT, projectId: 'proj_2' },
      { ...CONTEXT, table: 'Connector' },
    ];
    for (const other of neighbours) {
      const [mine, theirs] = [box.seal('mine', CONTEXT), box.seal('theirs', other)];
      expect(() => box.open(theirs, CONTEXT)).toThrow();
      expect(() => box.open(mine, other)).toThrow();
    }
  });

  test.each(['|', ',', '.', '\0', '","', '":"'])(
    'distinguishes cells whose names contain %j in different places',
    (separator) => {
      const sealed = box.seal('secret', { ...CONTEXT, table: `a${separator}b`, column: 'c' });
      expect(() => box.open(sealed, { ...CONTEXT, table: 'a', column: `b${separator}c` })).toThrow('altered');
    },
  );

  test('detects a change of a single bit', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.nat(), fc.nat({ max: 7 }), (plaintext, position, bit) => {
        const sealed = box.seal(plaintext, CONTEXT);
        const at = position % sealed.length;
        const flipped = String.fromCharCode(sealed.charCodeAt(at) ^ (1 << bit));
        const altered = sealed.slice(0, at) + flipped + sealed.slice(at + 1);
        expect(() => box.open(altered, CONTEXT)).toThrow('cannot be decrypted');
      }),
      { numRuns: 2000 },
    );
  });

  test.each([
    ['a shortened tag', (sealed: string) => sealed.slice(0, -6)],
    ['a missing part', (sealed: string) => sealed.split('.').slice(0, 4).join('.')],
    ['an extra part', (sealed: string) => `${sealed}.AAAA`],
    ['another version', (sealed: string) => sealed.replace('v1', 'v2')],
    ['padding', (sealed: string) => `${sealed}==`],
    ['a line break', (sealed: string) => `${sealed}\n`],
    ['the plaintext', () => 'whsec_plain'],
    ['nothing', () => ''],
  ])('rejects %s', (_what, alter) => {
    expect(() => box.open(alter(box.seal('secret', CONTEXT)), CONTEXT)).toThrow('cannot be decrypted');
  });

  test('names the cell in errors, but neither the plaintext nor the ciphertext', () => {
    const sealed = box.seal('hunter2', CONTEXT);
    for (const altered of [`${sealed}x`, sealed.slice(0, -2)]) {
      expect(() => box.open(altered, CONTEXT)).toThrow(
        /^The stored secret of Webhook\.secret in row wh_1 cannot be decrypted: [^.]*\.$/,
      );
    }
  });
});

describe('during a key rotation', () => {
  const before = createSecretBox(parseKeyring(OLD));
  const during = createSecretBox(parseKeyring(`${NEW},${OLD}`));
  const after = createSecretBox(parseKeyring(NEW));

  test('old secrets can be opened while the old key is in the keyring, and are not current', () => {
    const sealed = before.seal('secret', CONTEXT);
    expect(during.open(sealed, CONTEXT)).toBe('secret');
    expect(during.keyIdOf(sealed)).toBe('old');
    expect(during.isCurrent(sealed)).toBe(false);
    expect(during.isCurrent(during.seal('secret', CONTEXT))).toBe(true);
  });

  test('secrets without their key cause an error that names the missing key', () => {
    const sealed = before.seal('secret', CONTEXT);
    expect(() => after.open(sealed, CONTEXT)).toThrow('its key old is not in SECRET_KEYS');
  });

  test('another key with the same ID opens nothing', () => {
    const impostor = createSecretBox(parseKeyring(`old:${randomBytes(32).toString('base64')}`));
    expect(() => impostor.open(before.seal('secret', CONTEXT), CONTEXT)).toThrow('altered');
  });

  test('a ciphertext relabeled with another key ID cannot be decrypted', () => {
    const relabelled = before.seal('secret', CONTEXT).replace('v1.old.', 'v1.new.');
    expect(() => during.open(relabelled, CONTEXT)).toThrow('altered');
  });
});

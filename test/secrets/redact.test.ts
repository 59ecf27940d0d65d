import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { redactSecret, scrub } from '../../src/secrets/redact.ts';

describe('redactSecret', () => {
  test.each([
    ['', '••••'],
    ['short', '••••'],
    ['elevenchars', '••••'],
    ['twelve-chars', '••••hars'],
    ['xoxb-1234567890-abcdef', '••••cdef'],
    ['twelve-chars👍👍', '••••rs👍👍'],
  ])('%j is shown as %j', (value, shown) => {
    expect(redactSecret(value)).toBe(shown);
  });

  test('never shows more than the last four characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (value) => {
        const shown = redactSecret(value).slice(4);
        expect([...shown].length).toBeLessThanOrEqual(4);
        expect(value.endsWith(shown)).toBe(true);
        expect(shown.isWellFormed()).toBe(true);
      }),
    );
  });
});

const SECRET = 'k"ey/+ü&<s>\\ 1\'2\n3=?';

describe('scrub', () => {
  test.each([
    ['unchanged', SECRET],
    ['URL-encoded', encodeURIComponent(SECRET)],
    ['URL-encoded in lowercase', encodeURIComponent(SECRET).replace(/%../g, (octet) => octet.toLowerCase())],
    ['form-encoded', new URLSearchParams({ key: SECRET }).toString()],
    ['as JSON', JSON.stringify({ key: SECRET })],
    ['as JSON in ASCII with escaped slashes', JSON.stringify(SECRET).replaceAll('/', '\\/').replaceAll('ü', '\\u00fc')],
    ['in HTML', 'k&quot;ey/+ü&amp;&lt;s&gt;\\ 1&#39;2\n3=?'],
    ['in base64', Buffer.from(SECRET).toString('base64')],
    ['in base64url', Buffer.from(SECRET).toString('base64url')],
    ['in Basic authentication', Buffer.from(`account:${SECRET}`).toString('base64')],
    ['in a longer base64 text', Buffer.from(`{"key":"${SECRET}","more":true}`).toString('base64url')],
  ])('masks the secret %s', (_how, text) => {
    const scrubbed = scrub(`before ${text} after`, [SECRET]);
    expect(scrubbed).toMatch(/^before .*••••.* after$/s);
    for (const trace of ['ey/', 'ey%2', 'ey\\/', Buffer.from(SECRET).toString('base64').slice(4, -8)]) {
      expect(scrubbed).not.toContain(trace);
    }
  });

  test('masks a secret anywhere and in any encoding', () => {
    const spellings = [
      (text: string) => text,
      encodeURIComponent,
      (text: string) => JSON.stringify(text).slice(1, -1),
      (text: string) => Buffer.from(text).toString('base64'),
    ];
    const secret = fc.string({ minLength: 8, unit: 'grapheme' }).filter((text) => text.trim().length >= 8);
    fc.assert(
      fc.property(fc.string(), secret, fc.string(), fc.constantFrom(...spellings), (before, value, after, spell) => {
        fc.pre(!before.includes(spell(value)) && !after.includes(spell(value)));
        expect(scrub(before + spell(value) + after, [value])).not.toContain(spell(value));
      }),
      { numRuns: 500 },
    );
  });

  test('masks base64 at every alignment', () => {
    for (let offset = 0; offset < 9; offset++) {
      const text = Buffer.from(`${'x'.repeat(offset)}sk_live_abcdefghijkl and more`).toString('base64');
      const scrubbed = scrub(text, ['sk_live_abcdefghijkl']);
      expect(Buffer.from(scrubbed.replace('••••', ''), 'base64').toString()).not.toContain('live');
      expect(scrubbed).toContain('••••');
    }
  });

  test('masks long runs of letters and digits in repeatedly escaped text', () => {
    const secret = 'AbCdEfGh12345678+/="\\zYxWvUtS87654321';
    let text = `bad key ${secret}`;
    for (let depth = 0; depth < 4; depth++) {
      text = JSON.stringify({ message: text });
      for (const run of ['AbCdEfGh12345678', 'zYxWvUtS87654321']) expect(scrub(text, [secret])).not.toContain(run);
    }
  });

  test('masks the path, token, and signature of a secret URL, even without the host', () => {
    const url = 'https://hooks.example.com/services/T0000000/B0000000/AbCdEfGhIjKlMnOpQrStUvWx?sig=0123456789abcdef%3D';
    const texts = [
      url,
      'POST /services/T0000000/B0000000/AbCdEfGhIjKlMnOpQrStUvWx?sig=0123456789abcdef%3D',
      'Cannot POST /services/T0000000/B0000000/AbCdEfGhIjKlMnOpQrStUvWx',
      'invalid token AbCdEfGhIjKlMnOpQrStUvWx',
      'wrong signature 0123456789abcdef=',
    ];
    for (const text of texts) {
      expect(scrub(text, [url])).toContain('••••');
      expect(scrub(text, [url])).not.toMatch(/QrStUvWx|6789abcdef/);
    }
    expect(scrub('hooks.example.com/services is down', [url])).toBe('hooks.example.com/services is down');
  });

  test('masks all of a secret that contains another one', () => {
    expect(scrub('abcdefgh-ijklmnop', ['abcdefgh', 'abcdefgh-ijklmnop'])).toBe('••••');
  });

  test('does not change text without secrets, even if a secret is empty or invalid Unicode', () => {
    expect(scrub('nothing to hide', ['', '\ud800broken-surrogate', 'other-secret'])).toBe('nothing to hide');
  });

  test('does not interpret replacement patterns', () => {
    expect(scrub("$& secret-value $'", ['secret-value'])).toBe("$& •••• $'");
  });
});

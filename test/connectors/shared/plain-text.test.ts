import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { escapeHtml, escapeWithin, oneLine, shorten } from '../../../src/connectors/shared/plain-text.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 400 });

describe('oneLine', () => {
  test('turns line breaks and control characters into single spaces', () => {
    expect(oneLine(' a\r\nb\u2028c\u0000\u001b[31md ')).toBe('a b c [31md');
  });

  test('removes direction overrides, invisible characters, and lone surrogates', () => {
    expect(oneLine('\u202Etxt.exe\u202C \u200Bx\uFEFF \ud83d')).toBe('txt.exe x');
  });

  test('keeps the joiners that scripts and emoji need', () => {
    expect(oneLine('👩‍💻 نمی‌خواهم')).toBe('👩‍💻 نمی‌خواهم');
  });

  test('returns well-formed text without control characters for any input', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(oneLine(text).isWellFormed()).toBe(true);
        expect(oneLine(text)).not.toMatch(/[\p{Cc}\u202A-\u202E\u2066-\u2069]/u);
      }),
    );
  });
});

describe('shorten', () => {
  test('never exceeds the length and never splits a character', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 50 }), (text, maxLength) => {
        fc.pre(text.isWellFormed());
        const short = shorten(text, maxLength);
        expect(short.length).toBeLessThanOrEqual(maxLength);
        expect(short.isWellFormed()).toBe(true);
      }),
    );
  });
});

describe('escapeWithin', () => {
  test('shortens text between escapes, never inside one', () => {
    expect(escapeWithin('<<<', escapeHtml, 12)).toBe('&lt;&lt;&lt;');
    expect(escapeWithin('<<<<', escapeHtml, 12)).toBe('&lt;&lt;…');
  });

  test('never exceeds the length', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 60 }), (text, maxLength) => {
        expect(escapeWithin(text, escapeHtml, maxLength).length).toBeLessThanOrEqual(maxLength);
      }),
    );
  });
});

describe('escapeHtml', () => {
  test('escapes everything that could open a tag or an entity or close an attribute', () => {
    expect(escapeHtml(`<a href="x" b='y'>&amp;`)).toBe('&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;');
  });
});

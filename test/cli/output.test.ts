import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { createVisibleText, visible } from '../../src/cli/output.ts';

test.each([
  ['\u001b[2J\u001b]8;;https://evil.example\u0007', String.raw`\u001b[2J\u001b]8;;https://evil.example\u0007`],
  ['a\bb\0\u007f\u0085\u009b', String.raw`a\u0008b\u0000\u007f\u0085\u009b`],
  ['real\rfake', String.raw`real\u000dfake`],
  ['pay\u202Efdp.exe\u202C \u2066a\u2069 \u2028b', String.raw`pay\u202efdp.exe\u202c \u2066a\u2069 \u2028b`],
  ['line\n\tline\r\nÅsa – 🎉', 'line\n\tline\r\nÅsa – 🎉'],
])('characters that control the terminal are shown as escapes, except line breaks and tabs: %j', (text, shown) => {
  expect(visible(text)).toBe(shown);
});

test('JSON still parses to the same value after its control characters are escaped', () => {
  const value = { body: '\u001b[2J\u007f\u009b\u202E\r\n' };
  expect(JSON.parse(visible(JSON.stringify(value)))).toEqual(value);
});

test('a stream is shown like the whole text, no matter where its chunks end', async () => {
  const whole = 'a\u001b[2J\r\nÅsa – 🎉\rb\r';
  const bytes = Buffer.from(whole);
  for (let size = 1; size <= bytes.length; size++) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => {
      return bytes.subarray(index * size, (index + 1) * size);
    });
    expect(await text(Readable.from(chunks).pipe(createVisibleText()))).toBe(visible(whole));
  }
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cutGsmText, gsmLength, toGsmText } from '../../../src/connectors/types/gsm-text.ts';

describe('SMS text', () => {
  test.each([
    ['Café “Größe” — 5€…', 'Cafe "Grosse" - 5EUR...'],
    ['0x1F98…F984 → ₿', '0x1F98...F984 -> BTC'],
    ['`code` 😀 日本', "'code' ? ?"],
  ])('converts %j to %j', (text, sms) => {
    expect(toGsmText(text)).toBe(sms);
  });

  test('contains only characters of the 7-bit alphabet', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => /^[\x20-\x5f\x61-\x7e\n]*$/.test(toGsmText(text))));
  });

  test('counts characters from the extension table twice', () => {
    expect(gsmLength('[a]')).toBe(5);
    expect(cutGsmText('[[[[[[', 9)).toBe('[[[...');
    expect(cutGsmText('abc', 3)).toBe('abc');
  });
});

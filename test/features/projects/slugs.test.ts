import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { slugInput, slugOf } from '../../../src/features/projects/slugs.ts';

const accepts = (slug: string) => slugInput('pay.example').safeParse(slug).success;

test.each([
  ['Weather API', 'weather-api'],
  ['  Bücher & Café!  ', 'bucher-cafe'],
  ['ﬁne—print', 'fine-print'],
  ['a--b__c', 'a-b-c'],
  ['xn--bcher-kva', 'xn-bcher-kva'],
  ['x'.repeat(60), 'x'.repeat(40)],
  [`${'x'.repeat(39)} tail`, 'x'.repeat(39)],
  ['WWW', undefined],
  ['Admin', undefined],
  ['日本語', undefined],
  ['ab', undefined],
  ['', undefined],
])('the name %j becomes the slug %j', (name, slug) => {
  expect(slugOf(name)).toBe(slug);
});

test('a slug made from a name is always a valid host label, and one that a person could choose', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'grapheme', maxLength: 80 }), fc.string({ maxLength: 80 })), (name) => {
      const slug = slugOf(name);
      if (slug === undefined) return;
      expect(slug).toMatch(/^[a-z0-9](?:[a-z0-9-]{1,38})[a-z0-9]$/);
      expect(slug).not.toContain('--');
      expect(accepts(slug)).toBe(true);
      expect(new URL(`https://${slug}.pay.example`).hostname).toBe(`${slug}.pay.example`);
    }),
    { numRuns: 2_000 },
  );
});

describe('a chosen slug', () => {
  test.each(['abc', 'a-b', '1st', 'x'.repeat(40), 'weather-2'])('can be %s', (slug) => {
    expect(accepts(slug)).toBe(true);
  });

  test.each([
    ...['', 'ab', 'x'.repeat(41), 'Shop', 'a_b', 'a.b', '-ab', 'ab-', 'a--b', 'xn--bcher-kva', 'bücher', 'ａｂｃ'],
    ...['www', 'api', 'admin', 'mail', 'autodiscover', 'openpgpkey', 'sip', 'wpad', 'localhost'],
    ...['abc\n', ' abc', 'abc/..'],
  ])('cannot be %j', (slug) => {
    expect(accepts(slug)).toBe(false);
  });

  test('is rejected if the operator has no domain for projects', () => {
    const { error } = slugInput(undefined).safeParse('shop');
    expect(error?.issues[0]?.message).toContain('until the operator of this service sets GATEWAY_DOMAIN');
  });
});

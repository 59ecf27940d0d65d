import { expect, test } from 'vitest';
import { isSameSite } from '../../src/egress/redirects.ts';

test.each([
  ['https://a.example', 'https://a.example/x?y', true],
  ['https://a.example', 'https://www.a.example/x', true],
  ['https://www.a.example', 'https://a.example', true],
  ['https://A.example:443', 'https://a.example', true],
  ['http://a.example', 'https://a.example', true],
  ['http://a.example', 'https://www.a.example', true],
  ['https://a.example', 'http://a.example', false],
  ['https://a.example', 'https://a.example:8443', false],
  ['http://a.example:8080', 'https://a.example:8080', false],
  ['https://a.example', 'https://b.example', false],
  ['https://a.example', 'https://x.a.example', false],
  ['https://x.a.example', 'https://a.example', false],
  ['https://a.example', 'https://wwwa.example', false],
  ['https://a.example', 'https://a.example.evil.example', false],
  ['https://a.example', 'https://www.www.a.example', false],
  ['https://www.com', 'https://com', false],
  ['https://[2606:4700::1]', 'https://[2606:4700::1]/x', true],
])('%s and %s are on the same site: %s', (trusted, url, expected) => {
  expect(isSameSite(new URL(trusted), new URL(url))).toBe(expected);
});

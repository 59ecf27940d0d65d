import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isInGateway } from '../../src/http/test-payments.ts';

const PROJECT = '/gateway/proj_01jc9x2v5qe3w8k4m6n7p9r0st/';

/** Parts that a URL parser resolves, removes, or takes for a slash. */
const part = fc.constantFrom(
  '..',
  '.',
  '%2e%2E',
  '.%2e',
  '.\t.',
  '.\n',
  '\\',
  '/',
  '//',
  'api',
  'v1',
  '?',
  '#',
  'ä',
  '@',
);
const path = fc.array(part).map((parts) => PROJECT + parts.join('/'));

test('a test payment never leaves the gateway of its project, no matter how the path is written', () => {
  fc.assert(
    fc.property(path, (written) => {
      const { host, pathname } = new URL(written, 'http://127.0.0.1:4000');
      expect(host).toBe('127.0.0.1:4000');
      expect(isInGateway(written)).toBe(pathname.startsWith(PROJECT));
    }),
  );
});

test.each([
  [`${PROJECT}weather?city=Oslo`, true],
  [`${PROJECT}a/../b`, true],
  [`${PROJECT}../../api/projects`, false],
  [`${PROJECT}%2e%2e/%2E%2E/console`, false],
  [`${PROJECT}..\\..\\metrics`, false],
  [`${PROJECT}.\t./../graphql`, false],
  [`${PROJECT}../proj_01jc9x2v5qe3w8k4m6n7p9r0zz/weather`, false],
  ['/gateway/../api/projects', false],
  ['/gateway/proj_01jc9x2v5qe3w8k4m6n7p9r0st', false],
  ['//example.com/gateway/proj_1/x', false],
  ['http://example.com/gateway/proj_1/x', false],
])('the path %j of a test payment is in the gateway: %s', (written, expected) => {
  expect(isInGateway(written)).toBe(expected);
});

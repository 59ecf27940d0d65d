import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { publicLocation } from '../../../src/gateway/upstream/location.ts';
import { parseUpstream, upstreamTarget } from '../../../src/gateway/upstream/target.ts';

const SHARED = { host: 'pay.test', base: 'https://pay.test/gateway/proj_1' };
const OWN = { host: 'shop.test', base: 'https://shop.test' };

/** Returns what buyers get if an upstream responds to a request with this `Location`. */
function located(upstreamUrl: string, path: string, request: string, location: string, address = SHARED) {
  const upstream = parseUpstream(upstreamUrl);
  const pattern = path.slice(1).split('/');
  const target = upstreamTarget(upstream, pattern, request.slice(1).split('/'), '');
  if (!target.ok) throw new Error(target.message);
  return publicLocation(location, { route: { upstream, pattern }, target, address });
}

describe('a URL of the upstream', () => {
  test.each([
    ['https://a.test/people', '/users', '/users', 'https://a.test/people/7', '/users/7'],
    ['https://a.test/people', '/users', '/users', 'https://a.test/people', '/users'],
    ['https://a.test/people', '/users', '/users', 'http://a.test/people/7?x=1&y#z', '/users/7?x=1&y#z'],
    ['https://a.test/people', '/users', '/users', '/people/7', '/users/7'],
    ['https://a.test/people', '/users', '/users', 'people/7', '/users/7'],
    ['https://a.test/people/', '/users', '/users', '7', '/users/7'],
    ['https://a.test', '/users', '/users', '/7', '/users/7'],
    ['https://a.test/v1', '/', '/', '/v1/7', '/7'],
    ['https://a.test/store', '/files/*', '/files/a/b', '/store/c/d', '/files/c/d'],
    ['https://a.test/store', '/files/*', '/files/a/b', 'c', '/files/a/c'],
    ['https://a.test/store/*', '/files/*', '/files/a/b', '/store/c/d', '/files/c/d'],
    ['https://a.test/people/:id', '/users/:id', '/users/7', '/people/8', '/users/8'],
    ['https://a.test/people', '/users/:id/orders', '/users/7/orders', '/people/7/orders/3', '/users/7/orders/3'],
    ['https://a.test/people/:id/o', '/users/:id/o', '/users/7/o', '/people/7/o/3', '/users/7/o/3'],
    ['https://a.test/people/:id', '/users/:id/*', '/users/7/a', '/people/7/b', '/users/7/b'],
  ])(
    "becomes the project's public URL for the upstream %s, the path %s, and the request %s: %s",
    (upstreamUrl, path, request, location, expected) => {
      expect(located(upstreamUrl, path, request, location)).toBe(SHARED.base + expected);
      expect(located(upstreamUrl, path, request, location, OWN)).toBe(OWN.base + expected);
    },
  );

  test("becomes the project's public URL even if the upstream uses the host that the buyer called, or the public URL itself", () => {
    const call = ['https://a.test/people', '/users', '/users'] as const;
    expect(located(...call, 'https://pay.test/people/7')).toBe(`${SHARED.base}/users/7`);
    expect(located(...call, 'https://shop.test/people/7', OWN)).toBe(`${OWN.base}/users/7`);
    expect(located(...call, `${SHARED.base}/elsewhere/7`)).toBe(`${SHARED.base}/elsewhere/7`);
  });

  test("becomes the project's public URL without the parameters that the upstream URL sets", () => {
    const call = ['https://a.test/people?key=s3cret&f[a]=s3cret', '/users', '/users'] as const;
    expect(located(...call, '/people/7?key=s3cret&page=2')).toBe(`${SHARED.base}/users/7?page=2`);
    expect(located(...call, '/people/7?%6Bey=s3cret')).toBe(`${SHARED.base}/users/7`);
    expect(located(...call, '/people/7?KEY[]=s3cret&f=s3cret;f[a]=s3cret')).toBe(`${SHARED.base}/users/7`);
  });
});

test.each([
  ['200 parameters', `/x?${'"&'.repeat(199)}"`, true],
  ['more than 200 parameters', `/x?${'"&'.repeat(200)}"`, false],
  ['more than 200 parameters with semicolons', `/x?${'";'.repeat(200)}"`, false],
  ['8 KB', `/x?${'a'.repeat(8 * 1024 - 3)}`, true],
  ['more than 8 KB', `/x?${'a'.repeat(8 * 1024 - 2)}`, false],
])(
  'a URL with %s is shown, or left out if comparing it with the upstream URL would take too long',
  (_what, location, isShown) => {
    expect(located('https://a.test/x?key=1', '/x', '/x', location) !== undefined).toBe(isShown);
  },
);

describe('a URL that buyers must not see is left out', () => {
  test.each([
    ['a path outside the upstream URL', 'https://a.test/internal/7'],
    ['a path that only starts the same', 'https://a.test/people-internal'],
    ['a path that leaves the upstream URL', '/people/../internal'],
    ['another port of the upstream', 'https://a.test:8443/people/7'],
    ['a subdomain of the upstream', 'https://files.a.test/7'],
    ['another host with a link to the upstream', 'https://login.test/?next=https%3A%2F%2FA.test%2Fpeople'],
    ['a user name and a password', 'https://user:password@login.test/'],
    ['a script', 'javascript:alert(1)'],
    ['a file', 'file:///etc/passwd'],
    ['something that is not a URL', 'https://['],
  ])('%s', (_what, location) => {
    expect(located('https://a.test/people', '/users', '/users', location)).toBeUndefined();
  });

  test('a path that could have several public paths', () => {
    expect(located('https://a.test/store/*/raw', '/files/*', '/files/a', '/store/b/raw')).toBeUndefined();
    expect(located('https://a.test/:b/:a', '/x/:a/:b', '/x/1/2', '/2/1')).toBeUndefined();
  });
});

test('a URL on another host is passed on', () => {
  expect(located('https://a.test/people', '/users', '/users', 'https://cdn.test/7?x=1')).toBe('https://cdn.test/7?x=1');
});

test("an upstream's host may be part of the public host", () => {
  const address = { host: 'pay.a.test', base: 'https://pay.a.test' };
  expect(located('https://a.test/people', '/users', '/users', '/people/7', address)).toBe('https://pay.a.test/users/7');
});

test("no value contains the upstream's host", () => {
  const text = fc.oneof(
    fc.string(),
    fc.webUrl(),
    fc.webPath(),
    fc.constantFrom('hidden.test', 'HIDDEN.test:443', '/people', SHARED.base, OWN.base, '?', '#', '//', '@', '\\'),
  );
  fc.assert(
    fc.property(fc.array(text, { maxLength: 5 }), fc.constantFrom(SHARED, OWN), (parts, address) => {
      const value = located('https://hidden.test/people', '/users', '/users', parts.join(''), address);
      expect(value?.toLowerCase() ?? '').not.toContain('hidden.test');
    }),
    { numRuns: 2_000 },
  );
});

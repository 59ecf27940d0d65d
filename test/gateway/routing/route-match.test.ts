import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { METHODS } from '../../../src/features/endpoints/methods.ts';
import { createMatcher, requireRoute } from '../../../src/gateway/routing/route-match.ts';

const routed = (path: string, methods: readonly string[] = []) => ({
  path,
  methods,
  pattern: path.slice(1).split('/'),
  priceAtomic: 1n,
  previousPrices: [],
});
const segmentsOf = (path: string) => path.slice(1).split('/');

/** Returns the path that matches a request. */
function answering(paths: string[], request: string): string | undefined {
  return createMatcher(paths.map((path) => routed(path)))(segmentsOf(request), 'GET')?.route?.path;
}

test.each([
  ['a fixed path wins over a parameter', ['/users/:id', '/users/me'], '/users/me', '/users/me'],
  ['a parameter matches any other segment', ['/users/:id', '/users/me'], '/users/7', '/users/:id'],
  ['a parameter wins over a trailing star', ['/users/*', '/users/:id'], '/users/7', '/users/:id'],
  ['a trailing star matches longer paths', ['/users/*', '/users/:id'], '/users/7/orders', '/users/*'],
  ['the more specific of two trailing stars wins', ['/*', '/files/*'], '/files/a', '/files/*'],
  ['a match is found after backtracking from a dead end', ['/a/b/x', '/a/:p/y'], '/a/b/y', '/a/:p/y'],
  ['a trailing star is found after a dead end', ['/a/b/x', '/a/*'], '/a/b/y', '/a/*'],
  ['a trailing star further up is found after two dead ends', ['/a/b/c', '/a/:p/d', '/*'], '/a/b/e', '/*'],
  ['the earlier segment decides first', ['/:p/b', '/a/:q'], '/a/b', '/a/:q'],
  ['the first of two paths of the same shape wins', ['/users/:id', '/users/:name'], '/users/7', '/users/:id'],
  ['the root is a path', ['/', '/*'], '/', '/'],
  ['a trailing star at the root matches the root', ['/*'], '/', '/*'],
  ['a trailing star matches an empty rest after its slash', ['/files/*'], '/files/', '/files/*'],
  ["a star within a segment isn't a pattern", ['/a'], '/*', undefined],
  ['a trailing star needs its slash', ['/files/*'], '/files', undefined],
  ['a trailing slash is ignored if nothing else matches', ['/a'], '/a/', '/a'],
  ['a trailing slash after a parameter is ignored', ['/a/:p'], '/a/b/', '/a/:p'],
  ['a trailing slash is ignored after a dead end', ['/a/:p/c', '/a/b'], '/a/b/', '/a/b'],
  ['a trailing star wins over ignoring a trailing slash', ['/a', '/a/*'], '/a/', '/a/*'],
  ['a trailing star further up wins over ignoring a trailing slash', ['/a/b', '/*'], '/a/b/', '/*'],
  ['only one trailing slash is ignored', ['/a'], '/a//', undefined],
  ["the root isn't the path of a route with a name", ['/a', '/:p'], '/', undefined],
  ['a parameter is never empty', ['/a/:p'], '/a/', undefined],
  ['a longer path is a different path', ['/a'], '/a/b', undefined],
  ['a shorter path is a different path', ['/a/b'], '/a', undefined],
  ['case counts', ['/a'], '/A', undefined],
] as const)('%s', (_what, paths, request, winner) => {
  expect(answering([...paths], request)).toBe(winner);
  expect(answering([...paths].sort(), request)).toBe(winner);
});

describe('a method', () => {
  const match = createMatcher([
    routed('/users/:id', ['GET']),
    routed('/users/:name', ['PATCH', 'PUT']),
    routed('/users/me', ['DELETE']),
    routed('/*'),
  ]);

  test.each([
    ['GET', '/users/7', '/users/:id'],
    ['PUT', '/users/7', '/users/:name'],
    ['DELETE', '/users/me', '/users/me'],
    ['DELETE', '/else', '/*'],
  ])('%s %s goes to the endpoint that lists it', (method, request, path) => {
    expect(match(segmentsOf(request), method)?.route?.path).toBe(path);
  });

  test("doesn't make a less specific path serve the request", () => {
    expect(match(segmentsOf('/users/7'), 'DELETE')).toEqual({ allow: ['GET', 'PUT', 'PATCH'] });
    expect(match(segmentsOf('/users/me'), 'GET')).toEqual({ allow: ['DELETE'] });
  });

  test('is one that the path without the trailing slash has', () => {
    const routes = [routed('/a', ['GET']), routed('/b', ['GET']), routed('/b/*', ['POST'])];
    const found = (request: string, method: string) => createMatcher(routes)(segmentsOf(request), method);
    expect(found('/a/', 'GET')?.route?.path).toBe('/a');
    expect(found('/a/', 'POST')).toEqual({ allow: ['GET'] });
    expect(found('/b/', 'GET')).toEqual({ allow: ['POST'] });
  });

  test("is rejected with a list of allowed methods if the path doesn't have it", () => {
    expect(() => requireRoute(match(segmentsOf('/users/me'), 'GET'))).toThrow(
      expect.objectContaining({ code: 'METHOD_NOT_ALLOWED', headers: { allow: 'DELETE, OPTIONS' } }),
    );
    expect(() => requireRoute(createMatcher([])(['x'], 'GET'))).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }));
  });

  test('never changes which path wins', () => {
    const paths = ['/a/b', '/a/:p', '/:p/b', '/a/*', '/*'];
    const list = fc.subarray([...METHODS], { minLength: 1 });
    const request = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(fc.tuple(...paths.map(() => list)), request, fc.constantFrom(...METHODS), (lists, segments, name) => {
        const routes = paths.map((path, index) => routed(path, lists[index]));
        const winner = answering(paths, `/${segments.join('/')}`);
        const methods = routes.find(({ path }) => path === winner)?.methods;
        const found = createMatcher(routes)(segments, name);
        if (methods?.includes(name)) expect(found?.route?.path).toBe(winner);
        else expect(found).toEqual({ allow: METHODS.filter((method) => methods?.includes(method)) });
      }),
    );
  });
});

test('everything but tool calls is free at an MCP endpoint, so it serves no other spelling of a paid path', () => {
  const tools = { ...routed('/*', ['GET', 'POST', 'DELETE']), protocol: 'MCP' as const, priceAtomic: 5n };
  const premium = routed('/premium', ['GET']);
  const find = createMatcher([tools, premium]);
  expect(find(['premium'], 'GET')?.route).toBe(premium);
  expect(find(['PREMIUM'], 'GET')).toEqual({ moreExpensive: premium });
  expect(find(['mcp'], 'GET')?.route).toBe(tools);
  expect(createMatcher([{ ...tools, protocol: 'HTTP' as const }, premium])(['PREMIUM'], 'GET')?.route?.path).toBe('/*');
});

describe('an inactive route', () => {
  const off = (path: string, price: bigint, methods: readonly string[] = []) => ({
    ...routed(path, methods),
    priceAtomic: price,
    isActive: false,
  });
  const cheap = routed('/*');
  const find = (routes: ReturnType<typeof routed>[], request: string, method = 'GET') =>
    createMatcher(routes)(segmentsOf(request), method);

  test.each(['/premium', '/premium/', '/PREMIUM', '/premium;x', '/%70remium'])(
    "doesn't make a cheaper, less specific one serve %s",
    (request) => {
      expect(find([cheap, off('/premium', 100n)], request)).toBeUndefined();
      expect(find([cheap, off('/premium', 100n)], '/else')?.route).toBe(cheap);
    },
  );

  test("doesn't make a less specific one serve its path, whatever the prices, or what is under its star", () => {
    expect(find([cheap, off('/a', 0n)], '/a')).toBeUndefined();
    expect(find([cheap, off('/a/*', 100n)], '/a/b')).toBeUndefined();
    expect(find([cheap, routed('/a'), off('/a/*', 100n)], '/a/')).toBeUndefined();
    expect(find([cheap, off('/users/:id', 100n)], '/users/7')).toBeUndefined();
  });

  test('leaves the path to active ones with other methods', () => {
    const post = routed('/a', ['POST']);
    const routes = [cheap, off('/a', 100n, ['GET', 'PUT']), post];
    expect(find(routes, '/a')).toEqual({ allow: ['POST'] });
    expect(find(routes, '/a', 'DELETE')).toEqual({ allow: ['POST'] });
    expect(find(routes, '/a', 'POST')?.route).toBe(post);
  });
});

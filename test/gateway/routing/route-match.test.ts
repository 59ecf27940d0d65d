import { expect, test } from 'vitest';
import { createMatcher } from '../../../src/gateway/routing/route-match.ts';

const routed = (path: string) => ({ path, pattern: path.slice(1).split('/') });

/** Returns the path that matches a request. */
function answering(paths: string[], request: string): string | undefined {
  return createMatcher(paths.map(routed))(request.slice(1).split('/'))?.path;
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
  ['a trailing slash makes a different path', ['/a'], '/a/', undefined],
  ['a parameter is never empty', ['/a/:p'], '/a/', undefined],
  ['a longer path is a different path', ['/a'], '/a/b', undefined],
  ['a shorter path is a different path', ['/a/b'], '/a', undefined],
  ['case counts', ['/a'], '/A', undefined],
] as const)('%s', (_what, paths, request, winner) => {
  expect(answering([...paths], request)).toBe(winner);
  expect(answering([...paths].sort(), request)).toBe(winner);
});

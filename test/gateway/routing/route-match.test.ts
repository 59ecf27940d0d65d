import { expect, test } from 'vitest';
import { createMatcher } from '../../../src/gateway/routing/route-match.ts';

const routed = (path: string) => ({ path, pattern: path.slice(1).split('/') });

/** Which of the paths answers a request. */
function answering(paths: string[], request: string): string | undefined {
  return createMatcher(paths.map(routed))(request.slice(1).split('/'))?.path;
}

test.each([
  ['a fixed path wins over a parameter', ['/users/:id', '/users/me'], '/users/me', '/users/me'],
  ['a parameter takes any other segment', ['/users/:id', '/users/me'], '/users/7', '/users/:id'],
  ['a parameter wins over the rest', ['/users/*', '/users/:id'], '/users/7', '/users/:id'],
  ['the rest takes what is longer', ['/users/*', '/users/:id'], '/users/7/orders', '/users/*'],
  ['the more specific of two rests wins', ['/*', '/files/*'], '/files/a', '/files/*'],
  ['a match further on is found behind a dead end', ['/a/b/x', '/a/:p/y'], '/a/b/y', '/a/:p/y'],
  ['a rest is found behind a dead end', ['/a/b/x', '/a/*'], '/a/b/y', '/a/*'],
  ['a rest further up is found behind two dead ends', ['/a/b/c', '/a/:p/d', '/*'], '/a/b/e', '/*'],
  ['the earlier segment decides first', ['/:p/b', '/a/:q'], '/a/b', '/a/:q'],
  ['the first of two paths of the same shape wins', ['/users/:id', '/users/:name'], '/users/7', '/users/:id'],
  ['the root is a path', ['/', '/*'], '/', '/'],
  ['the rest of the root takes the root', ['/*'], '/', '/*'],
  ['a rest may be empty behind its slash', ['/files/*'], '/files/', '/files/*'],
  ['a literal star is no pattern', ['/a'], '/*', undefined],
  ['a rest needs its slash', ['/files/*'], '/files', undefined],
  ['a slash at the end is another path', ['/a'], '/a/', undefined],
  ['a parameter is never empty', ['/a/:p'], '/a/', undefined],
  ['a longer path is another path', ['/a'], '/a/b', undefined],
  ['a shorter path is another path', ['/a/b'], '/a', undefined],
  ['case counts', ['/a'], '/A', undefined],
] as const)('%s', (_what, paths, request, winner) => {
  expect(answering([...paths], request)).toBe(winner);
  expect(answering([...paths].sort(), request)).toBe(winner);
});

import { expect, test } from 'vitest';
import { ROUTES } from '../../src/rest/routes.ts';
import { createSimilarPath } from '../../src/rest/similar-path.ts';

const similarPath = createSimilarPath(ROUTES.map(({ path }) => path));

test.each([
  ['/api/project', '/api/projects'],
  ['/api/Projects', '/api/projects'],
  ['/api/projects/', '/api/projects'],
  ['/api/projects///', '/api/projects'],
  ['/api/v1/projects', '/api/projects'],
  ['/api/v2/projects/proj_1/endpoint', '/api/projects/proj_1/endpoints'],
  ['/api/projects/proj_1/endpiont', '/api/projects/proj_1/endpoints'],
  ['/api/projects/proj_1/web-hooks', '/api/projects/proj_1/webhooks'],
  ['/api/project/proj_1/webhook/wh_1', '/api/projects/proj_1/webhooks/wh_1'],
  ['/api/projects/proj_1/webhooks/wh_1/tests', '/api/projects/proj_1/webhooks/wh_1/test'],
])('%s is most similar to %s', (given, meant) => {
  expect(similarPath(given)).toBe(meant);
});

test.each([
  '/api/nothing-like-it',
  '/api/projects/proj_1/weather',
  '/api/projects//endpoint',
  `/api/${'project'.repeat(10)}`,
  `/api${'/projects'.repeat(12)}`,
])('nothing is similar to %s', (given) => {
  expect(similarPath(given)).toBeUndefined();
});

test('nothing is similar to a path with a million slashes, and finding that out takes little time', () => {
  expect(similarPath(`/api${'/'.repeat(1_000_000)}x`)).toBeUndefined();
});

test('a path that exists is similar to itself', () => {
  for (const { path } of ROUTES) {
    const filled = path.replaceAll(/:\w+/g, 'id_1');
    expect(similarPath(filled)).toBe(filled);
  }
});

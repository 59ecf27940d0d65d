import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { PROJECT } from '../../src/rest/routes/route.ts';
import { ROUTES } from '../../src/rest/routes.ts';
import { tagOf } from '../../src/rest/tags.ts';

const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const;
const DOCS = resolve(import.meta.dirname, '../../docs');
const text = readFileSync(resolve(DOCS, 'rest.md'), 'utf8');

/**
 * Returns the routes in the table of docs/rest.md. A row with two paths covers a list and an item: `POST` belongs to
 * the first, `PATCH` and `DELETE` to the second, and `GET` to both.
 */
function documented(): string[] {
  const rows = text.split('\n').filter((line) => /^\| `(…|\/api)/.test(line));
  return rows.flatMap((row) => {
    const [pathCell = '', ...cells] = row.split('|').slice(1, -1);
    const paths = [...pathCell.matchAll(/`([^`]+)`/g)].map(([, path]) => path!.replace('…', PROJECT));
    return METHODS.flatMap((method, column) => {
      const cell = cells[column]?.trim();
      if (!cell) return [];
      const isOfEach = paths.length === 1 || method === 'GET';
      const chosen = isOfEach ? paths : [method === 'POST' ? paths[0]! : paths[1]!];
      return chosen.map((path) => `${method} ${path}`);
    });
  });
}

test('docs/rest.md lists every route and no others', () => {
  expect(documented().sort()).toEqual(ROUTES.map(({ method, path }) => `${method} ${path}`).sort());
});

test('the OpenAPI document has the tags in the order in which docs/rest.md has their routes', () => {
  const { tags } = JSON.parse(readFileSync(resolve(DOCS, 'openapi.json'), 'utf8')) as { tags: { name: string }[] };
  const paths = documented().map((route) => route.split(' ')[1]!);
  expect(tags.map(({ name }) => name)).toEqual([...new Set(paths.map((path) => tagOf({ path })))]);
});

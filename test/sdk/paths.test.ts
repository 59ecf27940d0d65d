import { expect, test } from 'vitest';
import { Tollgate } from '../../packages/sdk/src/index.ts';

const paths: string[] = [];
const tollgate = new Tollgate({
  baseUrl: 'https://tollgate.example',
  apiKey: 'tg_test_x',
  projectId: 'prj_1',
  fetch: async (url) => {
    paths.push(new URL(String(url)).pathname);
    return Response.json({ data: [], nextCursor: null });
  },
});

test('the SDK sends any other text as one segment of the path', async () => {
  paths.length = 0;
  for (const id of ['...', '../x', '%2e%2e', 'a/b?c#d', '\\..\\']) await tollgate.customers.listPayments(id).page();
  expect(paths.map((path) => path.split('/').length)).toEqual(Array.from(paths, () => 7));
});

// As a segment of a path, these name the path itself and the one above it.
test.each(['.', '..'])('the SDK rejects %j as an ID, which would turn one request into another', async (id) => {
  paths.length = 0;
  const calls = [
    () => tollgate.customers.listPayments(id).page(),
    () => tollgate.webhooks.delete(id),
    () => tollgate.search.inProject({ q: 'x' }, { projectId: id }),
  ];
  for (const call of calls) await expect(async () => call()).rejects.toThrow(TypeError);
  expect(paths).toEqual([]);
});

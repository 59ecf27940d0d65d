import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';

const WALLET = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
const COUNT = 23;

type Page = {
  nodes: { id: string }[];
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string | null; endCursor: string | null };
};

let app: TestApp;
let alice: TestUser;
let ids: string[];

beforeAll(async () => {
  app = await startTestApp();
  alice = await app.user('alice', 'ENTERPRISE');
  ids = [];
  for (let index = 0; index < COUNT; index++) {
    const { body } = await alice.rest<{ id: string }>('POST', '/api/projects', {
      name: `Project ${index}`,
      walletAddress: WALLET,
    });
    ids.unshift(body.id);
  }
});

afterAll(() => app?.stop());

async function page(args: string): Promise<Page> {
  const { data, errors } = await alice.graphql<{ projects: Page }>(
    `{ projects${args && `(${args})`} { nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`,
  );
  expect(errors).toBeUndefined();
  return data!.projects;
}

describe('a connection', () => {
  test('can be read to the end, newest first, without gaps or duplicates, with any page size', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 30 }), async (size) => {
        const read: string[] = [];
        for (let after = ''; ; ) {
          const { nodes, pageInfo } = await page(`first: ${size}${after && `, after: "${after}"`}`);
          read.push(...nodes.map(({ id }) => id));
          expect(pageInfo.hasPreviousPage).toBe(after !== '');
          if (!pageInfo.hasNextPage) break;
          after = pageInfo.endCursor!;
        }
        expect(read).toEqual(ids);
      }),
      { numRuns: 12 },
    );
  });

  test('can be read backward in the same way', async () => {
    const read: string[] = [];
    for (let before = ''; ; ) {
      const { nodes, pageInfo } = await page(`last: 5${before && `, before: "${before}"`}`);
      read.unshift(...nodes.map(({ id }) => id));
      if (!pageInfo.hasPreviousPage) break;
      before = pageInfo.startCursor!;
    }
    expect(read).toEqual(ids);
  });

  test('continues after a cursor even if its item was deleted', async () => {
    const { pageInfo } = await page('first: 4');
    const gone = pageInfo.endCursor!;
    await alice.rest('DELETE', `/api/projects/${gone}`);
    const { nodes } = await page(`first: 3, after: "${gone}"`);
    expect(nodes.map(({ id }) => id)).toEqual(ids.slice(4, 7));
    ids = ids.filter((id) => id !== gone);
  });

  test('has 20 items per page by default', async () => {
    expect((await page('')).nodes).toHaveLength(20);
  });

  test.each([
    ['first: 1, last: 1', '/last'],
    ['after: "nonsense"', '/after'],
    ['before: "\\u0000"', '/before'],
    ['after: "ep_01jc9x2v5qe3w8k4m6n7p9r0st"', '/after'],
  ])('rejects %s with an error that names the field', async (args, field) => {
    const { errors } = await alice.graphql(`{ projects(${args}) { nodes { id } } }`);
    expect(errors![0]!.extensions).toMatchObject({ code: 'VALIDATION_FAILED', field });
  });
});

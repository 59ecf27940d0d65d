import { expect, test } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { type Page, type ReadPage, readRows } from '../../../src/rest/export/pages.ts';

const idOf = (number: number) => String(number).padStart(6, '0');
const idsFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => idOf(first + index));

/** A list in memory, newest first, with the cursors of the API. */
function listOf(ids: string[]): { ids: string[]; read: ReadPage } {
  const list = { ids };
  const read: ReadPage = async (variables): Promise<Page> => {
    const sorted = list.ids.toSorted();
    if ('first' in variables) {
      const nodes = sorted.toReversed().slice(0, variables.first);
      return { nodes: nodes.map((id) => ({ id })), pageInfo: { startCursor: null, hasPreviousPage: false } };
    }
    const newer = sorted.filter((id) => variables.before === undefined || id > variables.before);
    const nodes = newer.slice(0, variables.last).toReversed();
    const pageInfo = { startCursor: nodes[0] ?? null, hasPreviousPage: newer.length > variables.last };
    return { nodes: nodes.map((id) => ({ id })), pageInfo };
  };
  return Object.assign(list, { read });
}

const never = new AbortController().signal;
async function idsOf(pages: AsyncIterable<{ id?: unknown }[]>, onPage: (number: number) => void = () => {}) {
  const ids: unknown[] = [];
  let count = 0;
  for await (const page of pages) {
    expect(page.length).toBeLessThanOrEqual(100);
    ids.push(...page.map(({ id }) => id));
    onPage(++count);
  }
  return ids;
}

test.each([0, 1, 99, 100, 101, 1000])('all of %i rows are read once, oldest first', async (count) => {
  const ids = idsFrom(1, count);
  expect(await idsOf(readRows(listOf(ids).read, never))).toEqual(ids);
});

test.each([
  ['the first row', 1],
  ['a row in the middle', 120],
  ['the last row', 250],
])('an export continues after %s', async (_name, count) => {
  const ids = idsFrom(1, 250);
  expect(await idsOf(readRows(listOf(ids).read, never, idOf(count)))).toEqual(ids.slice(count));
});

test('an export continues after a row that was deleted in the meantime', async () => {
  const { read } = listOf([...idsFrom(1, 119), ...idsFrom(121, 130)]);
  expect(await idsOf(readRows(read, never, idOf(120)))).toEqual(idsFrom(121, 130));
});

test('rows that are added during an export are not in it, even if they keep coming', async () => {
  const ids = idsFrom(1, 250);
  const list = listOf([...ids]);
  const found = await idsOf(readRows(list.read, never), (page) => list.ids.push(...idsFrom(1000 * page, 150)));
  expect(found).toEqual(ids);
});

test('rows that are deleted during an export don’t hide others, even the oldest and the newest', async () => {
  const ids = idsFrom(1, 500);
  const list = listOf([...ids]);
  const found = await idsOf(readRows(list.read, never), (page) => {
    if (page === 2) list.ids = list.ids.filter((id) => id > idOf(300) && id < idOf(500));
  });
  expect(found).toEqual([...ids.slice(0, 200), ...ids.slice(300, 499)]);
});

test('an export waits for a database that is unavailable, but other errors end it', async () => {
  const ids = idsFrom(1, 150);
  const { read } = listOf(ids);
  const failing = (errors: AppError[]): ReadPage => {
    return async (variables) => {
      if ('before' in variables && errors.length > 0) throw errors.shift()!;
      return read(variables);
    };
  };
  const unavailable = () => new AppError('UNAVAILABLE', { retryAfterSeconds: 0 });
  expect(await idsOf(readRows(failing([unavailable(), unavailable()]), never))).toEqual(ids);
  await expect(idsOf(readRows(failing([new AppError('NOT_FOUND')]), never))).rejects.toThrow('Not found');
  const forever = Array.from({ length: 50 }, unavailable);
  await expect(idsOf(readRows(failing(forever), never))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(forever).toHaveLength(39);
});

import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../errors.ts';
import { collectGarbage } from './collect-garbage.ts';
import type { Row } from './formats.ts';

/** Reads a page of the list, newest first. The variables are the ones that `exportDocument` adds. */
export type ReadPage = (variables: { first: number } | { last: number; before?: string }) => Promise<Page>;

export type Page = {
  nodes: (Row & { id: string })[];
  pageInfo: { startCursor: string | null; hasPreviousPage: boolean };
};

const PAGE_SIZE = 100;
/** How many times a page is read again if the database is unavailable, for example, while it restarts. */
const MAX_RETRIES = 10;

/**
 * Reads all rows, oldest first, a page at a time. An array is emptied when the next one is requested. Between pages, no
 * transaction or connection is open. The last row is
 * the newest one at the time of the call, so rows that are added later don't make an export endless.
 *
 * @param after the cursor of the row to start after. Without one, the first row is the oldest one.
 * @param signal stops waiting for a database that is unavailable.
 * @throws AppError the same errors as the list. If the database becomes unavailable after the first page, the error is
 * thrown only after several retries.
 */
export async function* readRows(readPage: ReadPage, signal: AbortSignal, after?: string): AsyncGenerator<Row[], void> {
  const newest = (await readPage({ first: 1 })).nodes[0];
  if (!newest) return;
  let page = await readPage({ last: PAGE_SIZE, ...(after !== undefined && { before: after }) });
  for (;;) {
    const rows = page.nodes.reverse();
    // IDs sort by creation time.
    const end = rows.findIndex(({ id }) => id > newest.id);
    yield end < 0 ? rows : rows.slice(0, end);
    // The consumer is done with them. Otherwise, they would stay in use until the next page has been read.
    rows.length = 0;
    collectGarbage();
    const { startCursor, hasPreviousPage } = page.pageInfo;
    if (end >= 0 || !hasPreviousPage || startCursor === null) return;
    page = await persistently(() => readPage({ last: PAGE_SIZE, before: startCursor }), signal);
  }
}

async function persistently<T>(read: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let retries = 0; ; retries++) {
    try {
      return await read();
    } catch (error) {
      const isPassing = error instanceof AppError && error.code === 'UNAVAILABLE';
      if (!isPassing || retries >= MAX_RETRIES) throw error;
      await sleep((error.retryAfterSeconds ?? 1) * 1000, undefined, { signal });
    }
  }
}

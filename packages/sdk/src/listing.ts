import { isObject } from './errors.ts';

/** A page of a list. */
type Page<Item> = { data: Item[]; nextCursor: string | null };

/** A list. Iterate over it to get every item. More pages are fetched as needed. */
export type Listing<List extends Page<unknown>> = AsyncIterable<List['data'][number]> & {
  /** Reads one page. To get the next one, list with its `nextCursor` as `after`. */
  page(): Promise<List>;
};

/** Whether a response is a page of a list. */
export function isPage(body: unknown): boolean {
  if (!isObject(body) || !Array.isArray(body.data)) return false;
  return body.nextCursor === null || typeof body.nextCursor === 'string';
}

/** @param read Reads the page after a cursor or, without a cursor, the page that the caller asked for. */
export function createListing<List extends Page<unknown>>(read: (after?: string) => Promise<List>): Listing<List> {
  return {
    page: () => read(),
    async *[Symbol.asyncIterator]() {
      let page = await read();
      yield* page.data;
      while (page.nextCursor !== null) {
        page = await read(page.nextCursor);
        yield* page.data;
      }
    },
  };
}

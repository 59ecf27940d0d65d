import { AppError, invalidField } from '../errors.ts';
import { type IdType, isId } from '../ids.ts';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from './cost.ts';

export type PageArguments = {
  first?: number | null | undefined;
  last?: number | null | undefined;
  after?: string | null | undefined;
  before?: string | null | undefined;
};

/** A window into a list that is ordered by id, newest first, in Prisma's terms. */
export type PageWindow = { where: { id: { lt?: string; gt?: string } }; take: number };

/** Which part of a list is asked for. A negative `take` counts from the end. */
export type PageSlice = { after?: string; before?: string; take: number };

/**
 * Answers a Relay connection from a list ordered by id, newest first. The cursor of an item is its id: a page starts
 * after it even when the item itself has been deleted meanwhile.
 *
 * @throws AppError `VALIDATION_FAILED` for `first` with `last`, sizes outside 1 to 100, and cursors that are none.
 */
export async function resolvePage<T extends { id: string }>(
  type: IdType,
  args: PageArguments,
  load: (window: PageWindow) => Promise<T[]>,
) {
  const isCursor = (cursor: string) => isId(type, cursor);
  return resolveSlice(args, { isCursor, cursorOf: ({ id }: T) => id }, ({ after, before, take }) =>
    load({ where: { id: { ...(after && { lt: after }), ...(before && { gt: before }) } }, take }),
  );
}

/**
 * The same for a list in any order, whose cursors say where in that order an item stands.
 *
 * @param load answers the items of the slice in the order of the list.
 * @throws AppError as `resolvePage` does.
 */
export async function resolveSlice<T>(
  args: PageArguments,
  cursors: { isCursor(cursor: string): boolean; cursorOf(item: T): string },
  load: (slice: PageSlice) => Promise<T[]>,
) {
  if (args.first != null && args.last != null) {
    throw new AppError('VALIDATION_FAILED', {
      fields: [{ pointer: '/last', message: 'Use either `first` or `last`, not both.' }],
    });
  }
  for (const name of ['first', 'last'] as const) {
    const size = args[name];
    if (size != null && (size < 1 || size > MAX_PAGE_SIZE)) {
      throw invalidField(`/${name}`, `Must be from 1 to ${MAX_PAGE_SIZE}.`);
    }
  }
  for (const name of ['after', 'before'] as const) {
    const cursor = args[name];
    if (cursor != null && !cursors.isCursor(cursor)) throw invalidField(`/${name}`, 'Is not a cursor of this list.');
  }
  const backwards = args.last != null;
  const size = args.first ?? args.last ?? DEFAULT_PAGE_SIZE;
  const found = await load({
    ...(args.after && { after: args.after }),
    ...(args.before && { before: args.before }),
    // One more than asked for tells whether there is a further page.
    take: backwards ? -(size + 1) : size + 1,
  });
  const more = found.length > size;
  const items = backwards ? found.slice(more ? 1 : 0) : found.slice(0, size);
  const edges = items.map((node) => ({ cursor: cursors.cursorOf(node), node }));
  return {
    edges,
    pageInfo: {
      startCursor: edges.at(0)?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
      hasNextPage: backwards ? args.before != null : more,
      hasPreviousPage: backwards ? more : args.after != null,
    },
  };
}

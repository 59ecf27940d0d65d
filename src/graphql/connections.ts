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
    if (cursor != null && !isId(type, cursor)) throw invalidField(`/${name}`, 'Is not a cursor of this list.');
  }
  const backwards = args.last != null;
  const size = args.first ?? args.last ?? DEFAULT_PAGE_SIZE;
  const window: PageWindow = {
    where: { id: { ...(args.after && { lt: args.after }), ...(args.before && { gt: args.before }) } },
    // One more than asked for tells whether there is a further page. A negative take counts from the end.
    take: backwards ? -(size + 1) : size + 1,
  };
  const found = await load(window);
  const more = found.length > size;
  const items = backwards ? found.slice(more ? 1 : 0) : found.slice(0, size);
  return {
    edges: items.map((node) => ({ cursor: node.id, node })),
    pageInfo: {
      startCursor: items.at(0)?.id ?? null,
      endCursor: items.at(-1)?.id ?? null,
      hasNextPage: backwards ? args.before != null : more,
      hasPreviousPage: backwards ? more : args.after != null,
    },
  };
}

import { queryFromInfo } from '@pothos/plugin-prisma';
import type { GraphQLResolveInfo } from 'graphql';
import { AppError, invalidField } from '../errors.ts';
import { type IdType, isId } from '../ids.ts';
import type { GraphQLContext } from './context.ts';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from './cost.ts';

export type PageArguments = {
  first?: number | null | undefined;
  last?: number | null | undefined;
  after?: string | null | undefined;
  before?: string | null | undefined;
};

/** A window into a list that is ordered by ID, newest first, as Prisma arguments. */
export type PageWindow = { where: { id: { lt?: string; gt?: string } }; take: number };

const NODE_PATHS = [['nodes'], ['edges', 'node']];

/** The relations that a document selects on a connection's items. They are loaded together with the page. */
export function relationsOfNodes(request: { context: GraphQLContext; info: GraphQLResolveInfo }) {
  return queryFromInfo({ ...request, paths: NODE_PATHS });
}

/** A list that can be counted. `countAll` returns null above the limit. */
export type Countable = { countAll?: () => Promise<number | null> };

/** The part of a list to load. A negative `take` counts from the end. */
export type PageSlice = { after?: string; before?: string; take: number };

/**
 * Resolves a Relay connection from a list ordered by ID, newest first. An item's cursor is its ID, so a page can
 * start after an item that was deleted.
 *
 * @param request the resolver's context and info. What the document selects on the items is passed to `load`.
 * @param countAll counts the whole list, for `totalCount`.
 * @throws AppError `VALIDATION_FAILED` for `first` together with `last`, sizes outside 1 to 100, and invalid cursors.
 */
export async function resolvePage<T extends { id: string }>(
  type: IdType,
  args: PageArguments,
  request: { context: GraphQLContext; info: GraphQLResolveInfo },
  load: (query: PageWindow & ReturnType<typeof relationsOfNodes>) => Promise<T[]>,
  countAll?: Countable['countAll'],
) {
  const relations = relationsOfNodes(request);
  const isCursor = (cursor: string) => isId(type, cursor);
  return resolveSlice(
    args,
    { isCursor, cursorOf: ({ id }: T) => id },
    ({ after, before, take }) =>
      load({ where: { id: { ...(after && { lt: after }), ...(before && { gt: before }) } }, take, ...relations }),
    countAll,
  );
}

/**
 * Resolves a connection from a list in any order. A cursor is an item's position in that order.
 *
 * @param load returns the items in the slice in the list's order.
 * @throws AppError the same errors as `resolvePage`.
 */
export async function resolveSlice<T>(
  args: PageArguments,
  cursors: { isCursor(cursor: string): boolean; cursorOf(item: T): string },
  load: (slice: PageSlice) => Promise<T[]>,
  countAll?: Countable['countAll'],
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
    if (cursor != null && !cursors.isCursor(cursor))
      throw invalidField(`/${name}`, 'Must be a cursor from a page of this list.');
  }
  const backwards = args.last != null;
  const size = args.first ?? args.last ?? DEFAULT_PAGE_SIZE;
  const found = await load({
    ...(args.after && { after: args.after }),
    ...(args.before && { before: args.before }),
    // Loading one more item than requested shows whether there is another page.
    take: backwards ? -(size + 1) : size + 1,
  });
  const more = found.length > size;
  const items = backwards ? found.slice(more ? 1 : 0) : found.slice(0, size);
  const edges = items.map((node) => ({ cursor: cursors.cursorOf(node), node }));
  return {
    ...(countAll && { countAll }),
    edges,
    pageInfo: {
      startCursor: edges.at(0)?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
      hasNextPage: backwards ? args.before != null : more,
      hasPreviousPage: backwards ? more : args.after != null,
    },
  };
}

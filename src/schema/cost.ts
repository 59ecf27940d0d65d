import { type GraphQLField, getNamedType, isLeafType, isListType, isNonNullType } from 'graphql';

/** The maximum cost of a document, in points. A page of 100 items with 20 sub-items each is well below it. */
export const MAX_COST = 10_000;

export const DEFAULT_PAGE_SIZE = 20;
export const MAX_PAGE_SIZE = 100;
const LIST_MULTIPLIER = 10;

/**
 * One field's cost in points. Leaves are nearly free, objects cost one, and fields under a connection count once
 * for each item on the page, because otherwise `first` wouldn't affect the cost.
 */
export function costOfField(
  args: Record<string, unknown>,
  field: Pick<GraphQLField<unknown, unknown>, 'name' | 'type'>,
) {
  const type = isNonNullType(field.type) ? field.type.ofType : field.type;
  if (isLeafType(getNamedType(type))) return { field: 0.1, multiplier: 1 };
  if (getNamedType(type).name.endsWith('Connection')) {
    const size = args.first ?? args.last ?? DEFAULT_PAGE_SIZE;
    return { field: 1, multiplier: typeof size === 'number' ? Math.min(Math.max(size, 1), MAX_PAGE_SIZE) : 1 };
  }
  // `edges` and `nodes` are already counted by their connection.
  if (isListType(type)) return { field: 1, multiplier: ['edges', 'nodes'].includes(field.name) ? 1 : LIST_MULTIPLIER };
  return { field: 1, multiplier: 1 };
}

import { type GraphQLField, getNamedType, isLeafType, isListType, isNonNullType } from 'graphql';

/** The maximum cost of a document, in points. A page of 100 items with 20 sub-items each is well below it. */
export const MAX_COST = 10_000;
/**
 * The maximum cost of a subscription's selection, which runs for every item. A delivery with its event and ten attempts
 * is well below it.
 */
export const MAX_ITEM_COST = 500;

export const DEFAULT_PAGE_SIZE = 20;
export const MAX_PAGE_SIZE = 100;
const LIST_MULTIPLIER = 10;

/** The cost of a statistic, which reads many rows, or rows that summarize them. */
export const STATISTIC_COST = 25;
/** The cost of a statistic about customers, which reads rows for every customer that it's about. */
export const CUSTOMER_STATISTIC_COST = 50;

/** The cost of a leaf that can be large: one point per kilobyte, so documents can't request far more than they pay for. */
export const costOfKilobytes = (kilobytes: number) => ({ field: kilobytes, multiplier: 1 });
/** The cost of a field with up to 2 KB of text. */
export const LONG_TEXT = { complexity: costOfKilobytes(2) } as const;
/** The cost of a field with certificates, which have up to 16 KB. */
export const CERTIFICATES = { complexity: costOfKilobytes(16) } as const;
/** Most JSON values are smaller than this. Fields with larger values declare their own cost. */
const JSON_KILOBYTES = 4;

/**
 * A field's cost in points. Most leaves are nearly free, objects cost one, and fields under a connection count once for
 * each item on the page, because otherwise `first` wouldn't affect the cost.
 */
export function costOfField(
  args: Record<string, unknown>,
  field: Pick<GraphQLField<unknown, unknown>, 'name' | 'type'>,
) {
  const type = isNonNullType(field.type) ? field.type.ofType : field.type;
  if (getNamedType(type).name === 'JSON') return costOfKilobytes(JSON_KILOBYTES);
  if (isLeafType(getNamedType(type))) return { field: 0.1, multiplier: 1 };
  if (getNamedType(type).name.endsWith('Connection')) {
    const size = args.first ?? args.last ?? DEFAULT_PAGE_SIZE;
    return { field: 1, multiplier: typeof size === 'number' ? inPage(size) : 1 };
  }
  // A list of nodes by their IDs has an item for each ID.
  if (isListType(type) && Array.isArray(args.ids)) return { field: 1, multiplier: Math.max(args.ids.length, 1) };
  if (isListType(type)) {
    const size = args.first ?? args.last;
    if (typeof size === 'number') return { field: 1, multiplier: inPage(size) };
  }
  // `edges` and `nodes` are already counted by their connection.
  if (isListType(type)) return { field: 1, multiplier: ['edges', 'nodes'].includes(field.name) ? 1 : LIST_MULTIPLIER };
  return { field: 1, multiplier: 1 };
}

/** The longest list of intervals in the document that is being priced, by the context of its price. */
const longest = new WeakMap<object, number>();

/** The cost of a statistic with a list of intervals. All of them are computed, even if only their totals are selected. */
export function costOfIntervalStatistic(pricing: object, intervalCount: number) {
  longest.set(pricing, Math.max(intervalCount, longest.get(pricing) ?? 0));
  return { field: Math.max(STATISTIC_COST, intervalCount), multiplier: 1 };
}

/**
 * The cost of a list of intervals. A field doesn't know its parent's arguments, so it counts as many intervals as the
 * longest such list in the document has. Price a document twice with the same context, because the longest list may
 * come last.
 */
export function costOfIntervals(pricing: object) {
  return { field: 1, multiplier: longest.get(pricing) ?? 0 };
}

/** A page size within its limits. */
export const inPage = (size: number) => Math.min(Math.max(size, 1), MAX_PAGE_SIZE);

import { EVENT_FIELDS, type EventField } from './fields.ts';
import { containsText } from './text-search.ts';

export const OPERATORS = [
  ...(['eq', 'ne', 'in', 'gt', 'gte', 'lt', 'lte', 'exists', 'startsWith', 'contains'] as const),
];
export type Operator = (typeof OPERATORS)[number];

/** A parsed filter. `readFilter` creates it from the stored JSON. */
export type FilterNode =
  | { kind: 'and'; nodes: FilterNode[] }
  | { kind: 'or'; nodes: FilterNode[] }
  | { kind: 'not'; node: FilterNode }
  | { kind: 'condition'; field: string; operator: Operator; operand: unknown };

/** The parts of an event that filters can use. */
export type FilteredEvent = { type: string; data: Readonly<Record<string, unknown>> };

/** Negative if left is less than right, 0 if they are equal, positive otherwise. */
type Compare = (left: never, right: never) => number;

const COMPARE: Record<EventField['type'], Compare> = {
  text: compareTexts,
  integer: (left: number, right: number) => left - right,
  decimal: compareDecimals,
};

type Test = (value: unknown, operand: unknown, type: EventField['type']) => boolean;

const ordered =
  (isMatch: (difference: number) => boolean): Test =>
  (value, operand, type) =>
    isMatch((COMPARE[type] as (left: unknown, right: unknown) => number)(value, operand));

const TESTS: Record<Exclude<Operator, 'exists'>, Test> = {
  eq: isOneOf,
  ne: (value, operand, type) => !isOneOf(value, operand, type),
  in: isOneOf,
  gt: ordered((difference) => difference > 0),
  gte: ordered((difference) => difference >= 0),
  lt: ordered((difference) => difference < 0),
  lte: ordered((difference) => difference <= 0),
  startsWith: (value, operand) => (value as string).startsWith(operand as string),
  contains: (value, operand) => containsText(value as string, operand as string),
};

/**
 * Whether a value is equal to an operand or to one in a list. Every event is compared with the filters of all its
 * destinations, and a list can have a thousand items, so the value is converted only once.
 */
function isOneOf(value: unknown, operand: unknown, type: EventField['type']): boolean {
  const operands = Array.isArray(operand) ? operand : [operand];
  if (type !== 'decimal') return operands.includes(value);
  const shortest = shortestDecimal(value as string);
  return operands.some((item: string) => item.startsWith(shortest) && shortestDecimal(item) === shortest);
}

/** Whether an event matches a filter. A missing or null field matches no condition except `exists: false`. */
export function matchesFilter(node: FilterNode, event: FilteredEvent): boolean {
  if (node.kind === 'and') return node.nodes.every((inner) => matchesFilter(inner, event));
  if (node.kind === 'or') return node.nodes.some((inner) => matchesFilter(inner, event));
  if (node.kind === 'not') return !matchesFilter(node.node, event);
  const { field, operator, operand } = node;
  const value = fieldValue(field, event);
  const type = EVENT_FIELDS.get(field)?.type;
  if (operator === 'exists') return (value !== null) === operand;
  if (value === null || !type) return false;
  return TESTS[operator](value, operand, type);
}

function fieldValue(field: string, { type, data }: FilteredEvent): unknown {
  if (field === 'type') return type;
  const name = field.slice('data.'.length);
  return (Object.hasOwn(data, name) ? data[name] : null) ?? null;
}

/** Compares two decimal numbers of any length exactly: `"1.0"` equals `"1"`, and `"0.1"` is greater than `"0.09"`. */
export function compareDecimals(left: string, right: string): number {
  const [leftWhole = '', leftFraction = ''] = shortestDecimal(left).split('.');
  const [rightWhole = '', rightFraction = ''] = shortestDecimal(right).split('.');
  return (
    leftWhole.length - rightWhole.length ||
    compareTexts(leftWhole, rightWhole) ||
    compareTexts(leftFraction, rightFraction)
  );
}

function compareTexts(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}

/** A decimal number without zeros at the end of its fraction. Filters and events have none at the start. */
function shortestDecimal(text: string): string {
  return text.includes('.') ? text.replace(/\.?0*$/, '') : text;
}

import { EVENT_FIELDS, type EventField } from './fields.ts';

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
  text: (left: string, right: string) => (left < right ? -1 : Number(left > right)),
  integer: (left: number, right: number) => left - right,
  decimal: compareDecimals,
};

type Test = (compare: (operand: unknown) => number, operand: unknown, value: unknown) => boolean;

const TESTS: Record<Exclude<Operator, 'exists'>, Test> = {
  eq: (compare, operand) => compare(operand) === 0,
  ne: (compare, operand) => compare(operand) !== 0,
  in: (compare, operand) => (operand as unknown[]).some((item) => compare(item) === 0),
  gt: (compare, operand) => compare(operand) > 0,
  gte: (compare, operand) => compare(operand) >= 0,
  lt: (compare, operand) => compare(operand) < 0,
  lte: (compare, operand) => compare(operand) <= 0,
  startsWith: (_compare, operand, value) => (value as string).startsWith(operand as string),
  contains: (_compare, operand, value) => (value as string).includes(operand as string),
};

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
  const compare = COMPARE[type] as (left: unknown, right: unknown) => number;
  return TESTS[operator]((other) => compare(value, other), operand, value);
}

function fieldValue(field: string, { type, data }: FilteredEvent): unknown {
  if (field === 'type') return type;
  const name = field.slice('data.'.length);
  return (Object.hasOwn(data, name) ? data[name] : null) ?? null;
}

/** Compares two decimal numbers of any length exactly: `"1.0"` equals `"1"`, and `"0.1"` is greater than `"0.09"`. */
export function compareDecimals(left: string, right: string): number {
  const decimals = Math.max(decimalsOf(left), decimalsOf(right));
  const difference = scaled(left, decimals) - scaled(right, decimals);
  return difference < 0n ? -1 : Number(difference > 0n);
}

function decimalsOf(text: string): number {
  return text.split('.')[1]?.length ?? 0;
}

function scaled(text: string, decimals: number): bigint {
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(decimals, '0'));
}

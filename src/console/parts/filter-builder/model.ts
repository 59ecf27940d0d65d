import { EVENT_FIELDS, OPERATORS, type Operator } from './fields.ts';

/**
 * One row of the form. For `in`, the value is a list, and for `exists`, it is `true` or `false`. Keys tell rows apart.
 */
export type Condition = { key: string; field: string; operator: Operator; value: string | readonly string[] };
/** A group of conditions, all or any of which must match. A nested group contains only conditions. */
export type Group = { key: string; match: 'all' | 'any'; items: readonly Item[] };
export type Item = Condition | Group;

let keyCount = 0;
function newKey(): string {
  keyCount += 1;
  return String(keyCount);
}

export const newGroup = (match: Group['match'], items: readonly Item[] = []): Group => ({
  key: newKey(),
  match,
  items,
});
export const newCondition = (): Condition => ({ key: newKey(), field: 'data.amountUsd', operator: 'gte', value: '' });
const MAX_DEPTH = 2;

type Json = Readonly<Record<string, unknown>>;

export const isGroup = (item: Item): item is Group => 'match' in item;

/** A filter as the form shows it. Undefined if the form can't show it, for example, because of `not`. */
export function readFilter(filter: unknown): Group | undefined {
  const group = readGroup(filter);
  return group && depthOf(group) <= MAX_DEPTH ? group : undefined;
}

function readGroup(filter: unknown): Group | undefined {
  if (!isObject(filter)) return undefined;
  const entries = Object.entries(filter);
  if (entries.length === 0) return undefined;
  const parts = entries.map(([key, value]) => readEntry(key, value));
  if (!parts.every((part) => part !== undefined)) return undefined;
  const items = parts.flat();
  const [only] = items;
  return items.length === 1 && only && isGroup(only) ? only : newGroup('all', items);
}

/** The form's items for one key of a filter. */
function readEntry(key: string, value: unknown): Item[] | undefined {
  if (key === 'and') return readList(value)?.flatMap((group) => (group.match === 'all' ? group.items : [group]));
  if (key === 'or') {
    const groups = readList(value);
    const alternatives = groups?.flatMap((group) =>
      group.match === 'any' || group.items.length === 1 ? group.items : [group],
    );
    return alternatives && [newGroup('any', alternatives)];
  }
  return readConditions(key, value);
}

function readList(list: unknown): Group[] | undefined {
  if (!Array.isArray(list) || list.length === 0) return undefined;
  const groups = list.map(readGroup);
  return groups.every((group) => group !== undefined) ? groups : undefined;
}

function readConditions(field: string, given: unknown): Condition[] | undefined {
  const known = EVENT_FIELDS[field];
  if (!known) return undefined;
  const written = Object.entries(isObject(given) ? given : { eq: given });
  const operators: readonly string[] = OPERATORS[known.type];
  const conditions = written.map(([operator, operand]): Condition | undefined => {
    const value = readOperand(operator, operand);
    if (value === undefined || !operators.includes(operator)) return undefined;
    return { key: newKey(), field, operator: operator as Operator, value };
  });
  return written.length > 0 && conditions.every((condition) => condition !== undefined) ? conditions : undefined;
}

function readOperand(operator: string, operand: unknown): string | string[] | undefined {
  if (operator === 'in' && operand === null) return [];
  if (operator === 'in') return Array.isArray(operand) && operand.every(isScalar) ? operand.map(String) : undefined;
  if (operator === 'exists') return typeof operand === 'boolean' ? String(operand) : undefined;
  if (operand === null) return '';
  return isScalar(operand) ? String(operand) : undefined;
}

/** The filter that the service stores. Null if there are no conditions. A missing value is null in the filter. */
export function writeFilter({ match, items }: Group): Json | null {
  const parts = items.map(writeItem).filter((part) => part !== null);
  if (parts.length === 0) return null;
  return match === 'any' ? { or: parts } : joinAll(parts);
}

function writeItem(item: Item): Json | null {
  return isGroup(item) ? writeFilter(item) : { [item.field]: { [item.operator]: writeOperand(item) } };
}

/** Merges the parts into one object. A part whose key is already taken goes into `and`. */
function joinAll(parts: readonly Json[]): Json {
  const joined: Record<string, unknown> = {};
  const rest: Json[] = [];
  for (const part of parts) {
    if (Object.keys(part).some((key) => key in joined && !canJoin(joined[key], part[key]))) {
      rest.push(part);
      continue;
    }
    for (const [key, value] of Object.entries(part))
      joined[key] = isObject(value) ? { ...asObject(joined[key]), ...value } : value;
  }
  if (rest.length === 0) return joined;
  return { ...joined, and: [...(Array.isArray(joined.and) ? (joined.and as unknown[]) : []), ...rest] };
}

/** Whether two conditions on a field have different operators, so that one object can have both. */
function canJoin(before: unknown, added: unknown): boolean {
  return isObject(before) && isObject(added) && Object.keys(added).every((operator) => !(operator in before));
}

function writeOperand({ field, operator, value }: Condition): unknown {
  const write = (text: string) => (text === '' ? null : isInteger(field) ? toInteger(text) : text);
  if (operator === 'exists') return value === 'true';
  if (typeof value === 'string') return write(value);
  return value.length > 0 ? value.map(write) : null;
}

/** Moves a condition to another field. It keeps its operator and value if they make sense for that field. */
export function withField(condition: Condition, field: string): Condition {
  const before = EVENT_FIELDS[condition.field]?.type;
  const type = EVENT_FIELDS[field]?.type ?? 'text';
  if (before === type && type !== 'choice') return { ...condition, field };
  return withOperator({ ...condition, field, value: '' }, OPERATORS[type][0]!);
}

/** Changes a condition's operator, and converts its value to the form that the operator needs. */
export function withOperator(condition: Condition, operator: Operator): Condition {
  if (operator === 'exists') return { ...condition, operator, value: 'true' };
  // Only `exists` takes `true` or `false`, so its value can't be kept.
  const values = condition.operator === 'exists' ? [] : [condition.value].flat().filter(Boolean);
  return { ...condition, operator, value: operator === 'in' ? values : (values[0] ?? '') };
}

const depthOf = ({ items }: Group): number =>
  1 + Math.max(0, ...items.map((item) => (isGroup(item) ? depthOf(item) : 0)));
const isInteger = (field: string) => EVENT_FIELDS[field]?.type === 'integer';
/** Text that isn't a number stays as it is, and the service explains what is wrong with it. */
const toInteger = (text: string) => (Number.isSafeInteger(Number(text)) ? Number(text) : text);
const asObject = (value: unknown): Json => (isObject(value) ? value : {});

function isScalar(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

import { z } from 'zod';
import { mustBeOneOf } from '../did-you-mean.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { EVENT_FIELDS, type EventField } from './fields.ts';
import { type FilterNode, OPERATORS, type Operator } from './filter.ts';

/** Limits that keep a filter cheap to evaluate on every event. */
export const FILTER_LIMITS = { bytes: 4096, depth: 8, conditions: 50 } as const;

type Path = readonly (string | number)[];
type Report = (path: Path, message: string) => void;

/** A decimal string, as operands for amounts. */
export const DECIMAL = /^(0|[1-9][0-9]{0,29})(\.[0-9]{1,18})?$/;
const ORDERED: ReadonlySet<Operator> = new Set(['gt', 'gte', 'lt', 'lte']);
const OF_TEXT: ReadonlySet<Operator> = new Set(['startsWith', 'contains']);

/** The filter to store, or `null` for none. Issues point to the invalid condition. */
export const eventFilterInput = z
  .unknown()
  .meta({ component: 'EventContentFilter' })
  .transform((value, context) => {
    if (value === undefined) return undefined;
    if (value === null) return Prisma.DbNull;
    let isFine = true;
    readFilter(value, (path, message) => {
      isFine = false;
      context.addIssue({ code: 'custom', path: [...path], message });
    });
    // Checked last, because serializing a filter with unchecked nesting could overflow the stack.
    if (isFine && Buffer.byteLength(JSON.stringify(value)) > FILTER_LIMITS.bytes) {
      context.addIssue({ code: 'custom', message: `Must be at most ${FILTER_LIMITS.bytes} bytes.` });
    }
    return value as Prisma.InputJsonObject;
  })
  .optional();

class TooMuch extends Error {}

/**
 * Parses a filter, such as `{"data.amountUsd": {"gte": "1.00"}, "or": [{…}, {…}], "not": {…}}`.
 *
 * @param report called for every invalid part. Not needed for a stored filter, which was valid when it was saved. Parts
 *   that are no longer valid match nothing.
 */
export function readFilter(value: unknown, report: Report = () => {}): FilterNode {
  let conditions = 0;

  function readAll(filter: unknown, path: Path, depth: number): FilterNode {
    if (depth > FILTER_LIMITS.depth)
      return refuse(path, `Must not be nested more than ${FILTER_LIMITS.depth} levels deep.`);
    if (!isObject(filter)) return refuse(path, 'Must be an object that contains conditions.');
    const entries = Object.entries(filter);
    if (entries.length === 0) return refuse(path, 'Must have at least one condition.');
    const nodes = entries.map(([key, item]): FilterNode => {
      const at = [...path, key];
      if (key === 'not') return { kind: 'not', node: readAll(item, at, depth + 1) };
      if (key === 'and' || key === 'or') return { kind: key, nodes: readList(item, at, depth + 1) };
      return readField(key, item, at);
    });
    return { kind: 'and', nodes };
  }

  function readList(list: unknown, path: Path, depth: number): FilterNode[] {
    if (!Array.isArray(list) || list.length === 0) return [refuse(path, 'Must be a list of at least one filter.')];
    return list.map((item, index) => readAll(item, [...path, index], depth));
  }

  function readField(name: string, given: unknown, path: Path): FilterNode {
    count();
    const field = EVENT_FIELDS.get(name);
    if (!field) return refuse(path, unknownField(name));
    // A value without an operator means equality.
    const written = isObject(given) ? Object.entries(given) : [['eq', given] as const];
    if (written.length === 0) return refuse(path, 'Must have at least one operator.');
    const nodes = written.map(([operator, operand], index): FilterNode => {
      if (index > 0) count();
      const at = isObject(given) ? [...path, operator] : path;
      if (!isOperator(operator)) return refuse(at, `Must be one of ${OPERATORS.join(', ')}.`);
      const fault = faultOf(field, operator, operand);
      return fault ? refuse(at, fault) : { kind: 'condition', field: name, operator, operand };
    });
    return { kind: 'and', nodes };
  }

  function refuse(path: Path, message: string): FilterNode {
    count();
    report(path, message);
    return { kind: 'or', nodes: [] };
  }

  function count(): void {
    conditions += 1;
    if (conditions > FILTER_LIMITS.conditions) throw new TooMuch();
  }

  try {
    return readAll(value, [], 1);
  } catch (error) {
    if (!(error instanceof TooMuch)) throw error;
    report([], `Must have at most ${FILTER_LIMITS.conditions} conditions.`);
    return { kind: 'or', nodes: [] };
  }
}

/** Why a field can't be compared like this, or undefined if it can. */
function faultOf(field: EventField, operator: Operator, operand: unknown): string | undefined {
  if (operator === 'exists') return typeof operand === 'boolean' ? undefined : 'Must be true or false.';
  if (OF_TEXT.has(operator) && (field.type !== 'text' || field.choices))
    return 'Text operators can’t be used with this field.';
  if (ORDERED.has(operator) && field.choices)
    return 'This field can’t be compared with greater-than or less-than operators.';
  if (operator !== 'in') return valueFault(field, operator, operand);
  if (!Array.isArray(operand) || operand.length === 0) return 'Must be a list of at least one value.';
  // Stops at the first fault, because suggesting a similar value takes much longer than reading the value.
  for (const item of operand) {
    const fault = valueFault(field, operator, item);
    if (fault) return fault;
  }
  return undefined;
}

function valueFault({ type, choices }: EventField, operator: Operator, value: unknown): string | undefined {
  if (type === 'integer') return Number.isSafeInteger(value) ? undefined : 'Must be a whole number.';
  if (value === null) return 'Must not be null. Use the exists operator instead.';
  if (typeof value !== 'string') {
    return type === 'decimal' ? 'Must be a decimal string, for example, "1.00".' : 'Must be a string.';
  }
  if (type === 'decimal') return DECIMAL.test(value) ? undefined : 'Must be a decimal string, for example, "1.00".';
  if (choices) return choices.includes(value) ? undefined : mustBeOneOf(value, choices);
  if (!value.isWellFormed()) return 'Must be valid Unicode.';
  return OF_TEXT.has(operator) && value === '' ? "Can't be empty." : undefined;
}

function unknownField(name: string): string {
  if (EVENT_FIELDS.has(`data.${name}`)) return `No such field. Did you mean data.${name}?`;
  return `No event type has a filterable field "${name.slice(0, 100)}". The fields are ${[...EVENT_FIELDS.keys()].join(', ')}.`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isOperator(name: string): name is Operator {
  return (OPERATORS as readonly string[]).includes(name);
}

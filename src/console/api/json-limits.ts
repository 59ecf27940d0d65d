import type { JsonSchema } from './openapi.ts';

/** What a value's size is counted in. */
const UNITS = {
  string: ['character', 'characters'],
  array: ['entry', 'entries'],
  object: ['field', 'fields'],
} as const;

/** Which limits of a schema a value exceeds, as sentences. Limits of other types don't apply to the value. */
export function exceededLimits(schema: JsonSchema, value: unknown): string[] {
  if (typeof value === 'number') return outside(value, schema.minimum, schema.maximum, () => '');
  if (typeof value === 'string') {
    const isUnmatched = schema.pattern !== undefined && !new RegExp(schema.pattern, 'u').test(value);
    return [
      // JSON Schema counts code points.
      ...outside([...value].length, schema.minLength, schema.maxLength, unitOf('string')),
      ...(isUnmatched ? [`Must match ${schema.pattern}.`] : []),
    ];
  }
  if (Array.isArray(value)) return outside(value.length, schema.minItems, schema.maxItems, unitOf('array'));
  if (typeof value !== 'object' || value === null) return [];
  return outside(Object.keys(value).length, schema.minProperties, undefined, unitOf('object'));
}

const unitOf = (type: keyof typeof UNITS) => (count: number) => ` ${UNITS[type][count === 1 ? 0 : 1]}`;

function outside(
  size: number,
  minimum: number | undefined,
  maximum: number | undefined,
  unit: (count: number) => string,
): string[] {
  if (minimum !== undefined && size < minimum) return [`Must be at least ${minimum}${unit(minimum)}.`];
  if (maximum !== undefined && size > maximum) return [`Must be at most ${maximum}${unit(maximum)}.`];
  return [];
}

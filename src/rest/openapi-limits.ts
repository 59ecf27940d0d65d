import { z } from 'zod';
import type { Json } from './json.ts';
import { isPortable, portablePattern } from './openapi-patterns.ts';

/** The keywords that limit a value. The others come from the value's GraphQL type. */
const LIMITS = [
  ...['minLength', 'maxLength', 'pattern', 'format', 'minItems', 'maxItems', 'minimum', 'maximum', 'default'],
];

/**
 * The schema that checks an input as JSON Schema. Rules that JSON Schema can't express are left out, so it accepts
 * everything that the server accepts, except text that is within its limits only because the server trims it.
 */
function rulesSchema(rules: z.ZodType): Json {
  const written = z.toJSONSchema(rules, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const patterns = patternsOf(zodSchema);
      const known = z.globalRegistry.get(zodSchema) as { pattern?: string } | undefined;
      if (patterns.length === 0 || jsonSchema.type !== 'string' || known?.pattern !== undefined) return;
      delete jsonSchema.pattern;
      delete jsonSchema.allOf;
      // The format sets the same limits in a way that every language supports.
      if (jsonSchema.format === undefined) Object.assign(jsonSchema, limitsByPattern(patterns));
    },
  });
  return written as Json;
}

/** The patterns that a string must match. */
function patternsOf({ _zod: { def } }: z.core.$ZodType): RegExp[] {
  const checks = [def, ...(def.checks ?? []).map((check) => check._zod.def)] as { pattern?: RegExp }[];
  return checks.flatMap(({ pattern }) => pattern ?? []);
}

function limitsByPattern(patterns: readonly RegExp[]): Json {
  const hasText = patterns.some(({ source }) => source === '\\S');
  const portable = patterns.filter(({ source }) => source !== '\\S').filter(isPortable);
  // A specific pattern matters more than the one for control characters.
  const [pattern] = portable.toSorted(
    (one, other) => Number(portablePattern(one) !== one.source) - Number(portablePattern(other) !== other.source),
  );
  return { ...(hasText && { minLength: 1 }), ...(pattern && { pattern: portablePattern(pattern) }) };
}

/** The rules for an object's fields. */
export function fieldRules(rules: z.ZodType | undefined): Readonly<Record<string, Json>> {
  return rules ? ((merged(rulesSchema(rules)).properties ?? {}) as Record<string, Json>) : {};
}

/** Merges the alternatives of a rule other than null: several are possible only for objects with different fields. */
function merged({ anyOf, oneOf, ...own }: Json): Json {
  const choices = ((anyOf ?? oneOf ?? []) as Json[]).filter(({ type }) => type !== 'null').map(merged);
  const [only] = choices;
  if (choices.length < 2) return { ...only, ...own };
  return { properties: Object.assign({}, ...choices.map(({ properties }) => properties)), ...own };
}

/**
 * Adds the limits in a rule to a value's schema, including those of its items.
 *
 * @param isChange whether the value can be omitted to keep the current one, so that it has no default.
 */
export function withLimits(schema: Json, rule: Json | undefined, isChange = false): Json {
  if (!rule) return schema;
  const whole = merged(rule);
  const limits = LIMITS.filter((name) => name in whole && !(name === 'default' && isChange));
  const items = schema.items as Json | undefined;
  return {
    ...schema,
    ...(items && { items: withLimits(items, whole.items as Json | undefined) }),
    ...Object.fromEntries(limits.filter((name) => isFor(name, schema)).map((name) => [name, whole[name]])),
  };
}

/** The component that describes a JSON value, if its rule names one. */
export const componentOf = (rule: Json | undefined): string | undefined =>
  rule && (merged(rule).component as string | undefined);

/** Whether a keyword limits values of a schema. Enums and objects are referenced, and have their limits there. */
function isFor(keyword: string, { type }: Json): boolean {
  const types = [type].flat();
  if (keyword === 'default') return true;
  if (keyword.endsWith('Items')) return types.includes('array');
  if (keyword.endsWith('imum')) return types.includes('integer') || types.includes('number');
  return types.includes('string');
}

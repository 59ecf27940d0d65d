import { z } from 'zod';
import { sentenceOf } from '../../validation.ts';

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'] as const;
const INLINE = 'References aren’t allowed. Write each definition where it is used.';
const isUnique = (list: readonly unknown[]) => new Set(list).size === list.length;

const text = z.string();
const flag = z.boolean();
const count = z.int().nonnegative();
const names = z.array(text).refine(isUnique, 'Each name must be unique.');
const pattern = text.refine(isPattern, 'Must be a regular expression (ECMA-262, Unicode).');
const list = z.array(z.unknown());
const inlineOnly = z.undefined({ error: INLINE });

/** A schema inside another one: an object, or true or false. */
const inner: z.ZodType = z.unknown().superRefine((value, context) => {
  if (typeof value === 'boolean') return;
  const { error } = keywords.safeParse(value, { error: sentenceOf });
  for (const { path, message } of error?.issues ?? []) context.addIssue({ code: 'custom', path, message });
});
const inners = z.record(text, inner);
const innerList = z.array(inner).min(1);

/**
 * The JSON Schema keywords that have their own rules. Anything else is an annotation.
 * https://json-schema.org/draft/2020-12/json-schema-validation
 */
const keywords = z.looseObject({
  ...named(['title', 'description', '$comment', 'format', 'contentEncoding', 'contentMediaType'], text),
  ...named(['deprecated', 'nullable', 'readOnly', 'uniqueItems', 'writeOnly'], flag),
  ...named(['maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum'], z.number()),
  ...named(['maxLength', 'minLength', 'maxItems', 'minItems', 'maxContains', 'minContains'], count),
  ...named(['maxProperties', 'minProperties'], count),
  ...named(['additionalProperties', 'propertyNames', 'unevaluatedProperties', 'unevaluatedItems'], inner),
  ...named(['items', 'contains', 'contentSchema', 'not', 'if', 'then', 'else'], inner),
  ...named(['properties', 'dependentSchemas', '$defs', 'definitions'], inners),
  ...named(['allOf', 'anyOf', 'oneOf', 'prefixItems'], innerList),
  // The schema becomes part of other documents, where references to parts of it would point elsewhere.
  ...named(['$ref', '$dynamicRef', '$recursiveRef', '$id', 'id', '$anchor', '$dynamicAnchor'], inlineOnly),
  ...named(['$schema', '$vocabulary', '$recursiveAnchor', '$async'], inlineOnly),
  type: z.union([z.enum(TYPES), z.array(z.enum(TYPES)).min(1).refine(isUnique)], typeProblem()).optional(),
  enum: list.min(1).optional(),
  examples: list.optional(),
  required: names.optional(),
  multipleOf: z.number().positive().optional(),
  pattern: pattern.optional(),
  patternProperties: z.record(pattern, inner).optional(),
  dependentRequired: z.record(text, names).optional(),
});

/**
 * Checks a JSON Schema (draft 2020-12) for a query or a body. Its structure must be valid and it can't contain
 * references, because it is copied into other documents. `$schema` is removed.
 *
 * @param types the allowed values of `type`
 */
export function jsonSchemaInput(types: readonly (typeof TYPES)[number][]) {
  const root = keywords.extend({ type: z.enum(types) });
  return z.preprocess(withoutDialect, root);
}

function named<Name extends string, Rule extends z.ZodType>(keys: readonly Name[], rule: Rule) {
  return Object.fromEntries(keys.map((key) => [key, rule.optional()])) as Record<Name, z.ZodOptional<Rule>>;
}

function withoutDialect(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return schema;
  const { $schema: _dialect, ...rest } = schema as Record<string, unknown>;
  return rest;
}

/** A group such as `(?i:a)`. Few validators know them, and classes in them take milliseconds to compile. */
const MODIFIERS = /(?:^|[^\\])(?:\\\\)*\(\?(?!:)[ims]*-?[ims]*:/;

function isPattern(source: string): boolean {
  if (MODIFIERS.test(source)) return false;
  try {
    new RegExp(source, 'u');
    return true;
  } catch {
    return false;
  }
}

function typeProblem(): string {
  return `Must be one of ${TYPES.join(', ')}, or a list of them.`;
}

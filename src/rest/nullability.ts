import type { GraphQLInputField, GraphQLInputObjectType } from 'graphql';
import { z } from 'zod';
import { rulesOf } from '../schema/input-rules.ts';

type JsonSchema = { [key: string]: unknown };

/**
 * Removes null from the schema of an input's field, unless the field can be null. GraphQL can't tell, because a field
 * that can be omitted can also be null, and the type `JSON` includes null.
 */
export function nullability(
  input: GraphQLInputObjectType,
  { name }: GraphQLInputField,
  schema: JsonSchema,
  isRequired: boolean,
): JsonSchema {
  const rules = rulesOf(input);
  const rule = rules instanceof z.ZodObject ? (rules.shape as z.ZodRawShape)[name] : undefined;
  const isRefused = isRequired || (rule !== undefined && !z.safeParse(rule, null).success);
  return isRefused ? withoutNull(schema) : schema;
}

function withoutNull({ type, anyOf, ...schema }: JsonSchema): JsonSchema {
  if (Array.isArray(anyOf)) return { ...anyOf.find((part) => part.type !== 'null'), ...schema };
  if ('$ref' in schema) return schema;
  // Where any JSON is possible, so is null. Otherwise, the type `JSON` means an object with its own fields.
  const types = [type ?? 'object'].flat().filter((name) => name !== 'null');
  return { type: types.length === 1 ? types[0] : types, ...schema };
}

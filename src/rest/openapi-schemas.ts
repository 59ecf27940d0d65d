import { isDeepStrictEqual } from 'node:util';
import {
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLOutputType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
} from 'graphql';

import { rulesOf } from '../schema/input-rules.ts';
import { deprecatedField } from './deprecation.ts';
import type { Json } from './json.ts';
import { nullability } from './nullability.ts';
import { componentOf, fieldRules, withLimits } from './openapi-limits.ts';

export type { Json };

const SCALARS: Record<string, Json> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Boolean: { type: 'boolean' },
  Int: { type: 'integer' },
  Float: { type: 'number' },
  DateTime: { type: 'string', format: 'date-time' },
  JSON: {},
};

/**
 * Adds a schema to `components.schemas`, and returns the reference to it.
 *
 * @throws Error if another schema has the name.
 */
export function addComponent(schemas: Json, name: string, schema: Json): Json {
  if (schemas[name] && !isDeepStrictEqual(schemas[name], schema)) throw new Error(`There are two schemas ${name}`);
  schemas[name] = schema;
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * A GraphQL type's JSON schema, with values spelled as in REST. Enums and objects are added to `schemas` and
 * referenced.
 */
export function typeSchema(type: GraphQLInputType | GraphQLOutputType, schemas: Json): Json {
  if (!isNonNullType(type)) return nullable(bareSchema(type, schemas));
  return bareSchema(type.ofType, schemas);
}

/** Like `typeSchema`, but without null. */
export function bareSchema(type: GraphQLInputType | GraphQLOutputType, schemas: Json): Json {
  if (isListType(type)) return { type: 'array', items: typeSchema(type.ofType, schemas) };
  if (isInputObjectType(type)) return addComponent(schemas, type.name, inputObjectSchema(type, schemas));
  if (!isEnumType(type)) return { ...(SCALARS[getNamedType(type).name] ?? {}) };
  return addComponent(schemas, type.name, {
    type: 'string',
    description: type.description,
    enum: type.getValues().map(({ value }) => value as unknown),
  });
}

/**
 * The schema of an input object without its `hidden` fields. The fields in `required` become required. Its limits are
 * those of the rules that check it.
 *
 * @param options `isChange`: whether omitted fields keep their value, so that they have no default.
 */
export function inputObjectSchema(
  type: GraphQLInputObjectType,
  schemas: Json,
  options: { hidden?: ReadonlySet<string>; required?: ReadonlySet<string>; isChange?: boolean } = {},
): Json {
  const { hidden, required: also, isChange } = options;
  const rules = fieldRules(rulesOf(type));
  const fields = Object.values(type.getFields()).filter(({ name }) => !hidden?.has(name));
  const required = fields.filter(({ name, type }) => isNonNullType(type) || also?.has(name)).map(({ name }) => name);
  return {
    type: 'object',
    description: type.description,
    additionalProperties: false,
    ...(required.length > 0 && { required }),
    properties: Object.fromEntries(
      fields.map((field) => {
        const { description, deprecationReason } = field;
        const rule = rules[field.name];
        const component = componentOf(rule);
        const value = component
          ? valueSchema(component, field.type)
          : withLimits(typeSchema(field.type, schemas), rule, isChange);
        const schema = nullability(type, field, value, required.includes(field.name));
        return [field.name, { ...schema, description, ...deprecatedField(deprecationReason) }];
      }),
    ),
  };
}

/** A JSON value that a component describes. */
export function valueSchema(component: string, type: GraphQLInputType | GraphQLOutputType): Json {
  const value = { $ref: `#/components/schemas/${component}` };
  return isNonNullType(type) ? value : nullable(value);
}

function nullable(value: Json): Json {
  if ('$ref' in value) return { anyOf: [value, { type: 'null' }] };
  return 'type' in value ? { ...value, type: [value.type, 'null'].flat() } : value;
}

/** Wraps an object's schema in the lists and nullability of its field's type. */
export function wrapLike(type: GraphQLOutputType, inner: Json): Json {
  if (!isNonNullType(type)) return nullable(wrapList(type, inner));
  return wrapList(type.ofType, inner);
}

function wrapList(type: GraphQLOutputType, inner: Json): Json {
  return isListType(type) ? { type: 'array', items: wrapLike(type.ofType, inner) } : inner;
}

export function header(description: string, options: { required?: boolean } = {}): Json {
  return { description, ...options, schema: { type: 'string' } };
}

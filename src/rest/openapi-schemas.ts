import {
  type GraphQLInputType,
  type GraphQLOutputType,
  getNamedType,
  isEnumType,
  isListType,
  isNonNullType,
} from 'graphql';
import { ERRORS } from '../errors.ts';

export type Json = { [key: string]: unknown };

const SCALARS: Record<string, Json> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Boolean: { type: 'boolean' },
  Int: { type: 'integer' },
  Float: { type: 'number' },
  DateTime: { type: 'string', format: 'date-time' },
  JSON: {},
};

/** A GraphQL type's JSON schema, with values spelled as in REST. Enums are added to `schemas` and referenced. */
export function typeSchema(type: GraphQLInputType | GraphQLOutputType, schemas: Json): Json {
  if (!isNonNullType(type)) return nullable(bareSchema(type, schemas));
  return bareSchema(type.ofType, schemas);
}

/** Like `typeSchema`, but without null. */
export function bareSchema(type: GraphQLInputType | GraphQLOutputType, schemas: Json): Json {
  if (isListType(type)) return { type: 'array', items: typeSchema(type.ofType, schemas) };
  if (!isEnumType(type)) return { ...(SCALARS[getNamedType(type).name] ?? {}) };
  schemas[type.name] ??= {
    type: 'string',
    description: type.description,
    enum: type.getValues().map(({ value }) => value as unknown),
  };
  return { $ref: `#/components/schemas/${type.name}` };
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

const PROBLEM_HEADERS: Record<number, Json> = {
  401: { 'WWW-Authenticate': header('Which credentials are accepted (RFC 6750).', { required: true }) },
  429: { 'Retry-After': header('Seconds to wait before retrying.', { required: true }) },
};

/** Codes that only paid routes and `/graphql` return. */
const OF_OTHER_DOORS = /^(PAYMENT|UPSTREAM|FACILITATOR|GRAPHQL)_/;

/** The response for an error status, with every code that a route can return with that status. */
export function problem(status: number): Json {
  const codes = Object.entries(ERRORS).filter(([code, error]) => error.status === status && !OF_OTHER_DOORS.test(code));
  return {
    description: codes.map(([code, { message }]) => `\`${code}\`: ${message}`).join('\n\n'),
    ...(PROBLEM_HEADERS[status] && { headers: PROBLEM_HEADERS[status] }),
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  };
}

/** An error response (RFC 9457). */
export const PROBLEM: Json = {
  type: 'object',
  description: 'An error (RFC 9457).',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId', 'errors'],
  properties: {
    type: { type: 'string', format: 'uri' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    instance: { type: 'string' },
    code: { type: 'string', enum: Object.keys(ERRORS) },
    requestId: { type: 'string' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['pointer', 'message'],
        properties: {
          pointer: { type: 'string', description: 'JSON pointer (RFC 6901).' },
          message: { type: 'string' },
        },
      },
    },
  },
};

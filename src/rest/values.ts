import {
  GraphQLBoolean,
  type GraphQLInputType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isRequiredInputField,
} from 'graphql';
import type { FieldError } from '../errors.ts';
import { toPointer } from '../validation.ts';

type Path = readonly (string | number)[];

/**
 * Converts a JSON value into a GraphQL variable of this input type. REST uses the public spelling of enum values
 * (`payment.settled`), while GraphQL uses their names (`PAYMENT_SETTLED`). Every invalid value adds an error with its
 * JSON pointer.
 */
export function toVariable(type: GraphQLInputType, value: unknown, errors: FieldError[], path: Path = []): unknown {
  const refuse = (message: string, at: Path = path) => {
    errors.push({ pointer: toPointer(at), message });
    return undefined;
  };
  if (isNonNullType(type)) {
    return value === null || value === undefined
      ? refuse('Is required.')
      : toVariable(type.ofType, value, errors, path);
  }
  if (value === null || value === undefined) return value;
  if (isListType(type)) {
    if (!Array.isArray(value)) return refuse('Must be a list.');
    return value.map((item, index) => toVariable(type.ofType, item, errors, [...path, index]));
  }
  if (isEnumType(type)) {
    const match = type.getValues().find((entry) => entry.value === value);
    return match
      ? match.name
      : refuse(
          `Must be one of ${type
            .getValues()
            .map((entry) => entry.value)
            .join(', ')}.`,
        );
  }
  if (isInputObjectType(type)) {
    if (typeof value !== 'object' || Array.isArray(value)) return refuse('Must be an object.');
    const fields = type.getFields();
    for (const name of Object.keys(value)) {
      if (!Object.hasOwn(fields, name)) refuse('Unknown field.', [...path, name]);
    }
    const given = value as Record<string, unknown>;
    return Object.fromEntries(
      Object.values(fields)
        .filter((field) => Object.hasOwn(given, field.name) || isRequiredInputField(field))
        .map((field) => [field.name, toVariable(field.type, given[field.name], errors, [...path, field.name])]),
    );
  }
  const expected = SCALARS[type.name];
  if (expected) return expected.accepts(value) ? value : refuse(expected.message);
  try {
    // This is the type's own rule, so a value that passes here also passes in GraphQL.
    type.parseValue(value);
    return value;
  } catch (error) {
    return refuse((error as Error).message);
  }
}

const BOOLEANS: Readonly<Record<string, boolean>> = { true: true, false: false };

/** A query parameter's value. Booleans are written as in JSON. Everything else stays text. */
export function ofText(type: GraphQLInputType, text: string | undefined): unknown {
  return getNamedType(type) === GraphQLBoolean && text !== undefined ? (BOOLEANS[text] ?? text) : text;
}

/** GraphQL's built-in types. They would accept values that REST doesn't document, and their messages are less clear. */
const SCALARS: Record<string, { accepts(value: unknown): boolean; message: string }> = {
  ID: { accepts: (value) => typeof value === 'string', message: 'Must be an ID.' },
  String: { accepts: (value) => typeof value === 'string', message: 'Must be a string.' },
  Boolean: { accepts: (value) => typeof value === 'boolean', message: 'Must be true or false.' },
  Int: {
    accepts: (value) => Number.isInteger(value) && Math.abs(value as number) < 2 ** 31,
    message: 'Must be a whole number.',
  },
};

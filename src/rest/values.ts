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
import { mustBeOneOf, nameFields } from '../did-you-mean.ts';
import { type FieldError, MAX_FIELD_ERRORS, toPointer } from '../errors.ts';

type Path = readonly (string | number)[];

/**
 * Converts a JSON value into a GraphQL variable of this input type. REST uses the public spelling of enum values
 * (`payment.settled`) in uppercase or lowercase, while GraphQL uses their names (`PAYMENT_SETTLED`). Every invalid value
 * adds an error with its JSON pointer.
 *
 * @param hidden the fields of this type that errors don't suggest, because the caller can't set them.
 */
export function toVariable(
  type: GraphQLInputType,
  value: unknown,
  errors: FieldError[],
  path: Path = [],
  hidden: readonly string[] = [],
): unknown {
  const refuse = (message: string | (() => string), at: Path = path) => {
    // The rest are only counted, because looking for similar names is slow.
    const isListed = errors.length < MAX_FIELD_ERRORS;
    errors.push({ pointer: toPointer(at), message: typeof message === 'string' ? message : isListed ? message() : '' });
    return undefined;
  };
  if (isNonNullType(type)) {
    return value === null || value === undefined
      ? refuse('Required.')
      : toVariable(type.ofType, value, errors, path, hidden);
  }
  if (value === null || value === undefined) return value;
  if (isListType(type)) {
    if (!Array.isArray(value)) return refuse('Must be a list.');
    return value.map((item, index) => toVariable(type.ofType, item, errors, [...path, index]));
  }
  if (isEnumType(type)) {
    const spellings = type.getValues().map((entry) => String(entry.value));
    const match = typeof value === 'string' ? inAnyCase(value, spellings) : undefined;
    return match === undefined
      ? refuse(() => mustBeOneOf(value, spellings))
      : type.getValues()[spellings.indexOf(match)]!.name;
  }
  if (isInputObjectType(type)) {
    if (typeof value !== 'object' || Array.isArray(value)) return refuse('Must be an object.');
    const fields = type.getFields();
    const known = Object.keys(fields).filter((name) => !hidden.includes(name));
    for (const name of Object.keys(value)) {
      if (!Object.hasOwn(fields, name)) {
        refuse(() => `Unknown field.${nameFields(name, known)}`, [...path, name]);
      }
    }
    const given = value as Record<string, unknown>;
    return Object.fromEntries(
      Object.values(fields)
        .filter((field) => Object.hasOwn(given, field.name) || isRequiredInputField(field))
        .map((field) => [field.name, toVariable(field.type, given[field.name], errors, [...path, field.name])]),
    );
  }
  const expected = SCALARS[type.name];
  if (expected) return expected.accepts(value) ? value : refuse(expected.message(value));
  try {
    // This is the type's own rule, so a value that passes here also passes in GraphQL.
    type.parseValue(value);
    return value;
  } catch (error) {
    return refuse((error as Error).message);
  }
}

const BOOLEANS: Readonly<Record<string, boolean>> = { true: true, false: false };

/** The known value that equals this text in uppercase or lowercase, or undefined. */
export function inAnyCase<T extends string>(text: string, known: readonly T[]): T | undefined {
  const asked = text.toLowerCase();
  return known.find((one) => one.toLowerCase() === asked);
}

/** A query parameter's value. Booleans are written as in JSON, in uppercase or lowercase. Everything else stays text. */
export function ofText(type: GraphQLInputType, text: string | undefined): unknown {
  if (text === undefined || getNamedType(type) !== GraphQLBoolean) return text;
  return BOOLEANS[text.toLowerCase()] ?? text;
}

/** GraphQL's built-in types. They would accept values that REST doesn't document, and their messages are less clear. */
const SCALARS: Record<string, { accepts(value: unknown): boolean; message(value: unknown): string }> = {
  ID: { accepts: (value) => typeof value === 'string', message: () => 'Must be an ID.' },
  String: {
    accepts: (value) => typeof value === 'string',
    message: (value) => (typeof value === 'number' ? `Send it as a string: "${value}".` : 'Must be a string.'),
  },
  Boolean: {
    accepts: (value) => typeof value === 'boolean',
    message: (value) =>
      value === 'true' || value === 'false' ? `Send it without quotes: ${value}.` : 'Must be true or false.',
  },
  Int: {
    accepts: (value) => Number.isInteger(value) && Math.abs(value as number) < 2 ** 31,
    message: (value) =>
      typeof value === 'string' && /^-?\d{1,10}$/.test(value)
        ? `Send it without quotes: ${value}.`
        : 'Must be a whole number.',
  },
};

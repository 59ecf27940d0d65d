import {
  type ExecutionArgs,
  type ExecutionResult,
  type FieldNode,
  GraphQLError,
  type GraphQLErrorOptions,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { AppError } from '../errors.ts';
import { mutationsIn } from './count-mutations.ts';

/** The maximum size of a response, as JSON. */
export const MAX_RESPONSE_BYTES = 8 * 1024 * 1024;

/**
 * The minimum size of an error in addition to what is measured: its code, the URL of a page about it, and the request
 * ID.
 */
const ERROR_BYTES = 300;
/** Shorter text is measured without the backslashes that JSON adds to it. */
const SHORT_TEXT_LENGTH = 1024;

/** Limits the size of every response, including those of REST routes, before it is written as JSON. */
export function responseLimitPlugin(): Plugin {
  return {
    onExecute({ args }) {
      return {
        onExecuteDone({ result, setResult }) {
          if (Symbol.asyncIterator in result) return;
          const limited = limitResponse(result as ExecutionResult, args as ExecutionArgs);
          if (limited !== result) setResult(limited);
        },
      };
    },
  };
}

/**
 * Returns the result unchanged, or an error instead if it is too large. A value that appears in a result many times
 * takes up memory only once, but is written to the JSON each time.
 */
export function limitResponse(result: ExecutionResult, { document, operationName }: ExecutionArgs): ExecutionResult {
  const { data, errors = [] } = result;
  let left = MAX_RESPONSE_BYTES;
  for (const { message, path } of errors) left = bytesLeft({ message, path }, left - ERROR_BYTES);
  if (bytesLeft(data, left) >= 0) return result;
  const mutations = mutationsIn(document, operationName);
  if (mutations.length === 0 || !data) return { errors: [tooLarge('Request fewer items or fields.')] };
  // A change can't be rejected after it was made, so each one gets an error in place of its result.
  const names = Object.keys(data);
  return {
    data: Object.fromEntries(names.map((name) => [name, null])),
    errors: names
      .filter((name) => typeof data[name] === 'object' && data[name] !== null)
      .map((name) => tooLarge(CHANGE_MADE, { path: [name], nodes: mutations.find((node) => nameOf(node) === name) })),
  };
}

const CHANGE_MADE = 'The change was made. Read its result with fewer items or fields.';

const nameOf = ({ alias, name }: FieldNode): string => (alias ?? name).value;

function tooLarge(advice: string, place: Pick<GraphQLErrorOptions, 'path' | 'nodes'> = {}): GraphQLError {
  const detail = `The response is larger than ${MAX_RESPONSE_BYTES / 1024 / 1024} MB. ${advice}`;
  return new GraphQLError(detail, { ...place, originalError: new AppError('RESPONSE_TOO_LARGE', { detail }) });
}

/** Subtracts the size of a value as JSON. Stops once the result is negative, which can be long before the value's end. */
function bytesLeft(value: unknown, bytes: number): number {
  if (typeof value === 'string') return bytes - textBytes(value);
  if (typeof value !== 'object' || value === null) return bytes - String(value).length;
  let left = bytes - 1;
  if (Array.isArray(value)) {
    for (const item of value) {
      left = bytesLeft(item, left - 1);
      if (left < 0) break;
    }
    return left;
  }
  const fields = value as Record<string, unknown>;
  for (const name in fields) {
    left = bytesLeft(fields[name], left - textBytes(name) - 2);
    if (left < 0) break;
  }
  return left;
}

function textBytes(text: string): number {
  return text.length < SHORT_TEXT_LENGTH ? Buffer.byteLength(text) + 2 : Buffer.byteLength(JSON.stringify(text));
}

import { GraphQLError, Kind } from 'graphql';
import pino from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { AppError, invalidField } from '../../src/errors.ts';
import { Prisma } from '../../src/generated/prisma/client.ts';
import { appErrorOf, createErrorMask, errorCodeOf } from '../../src/graphql/errors.ts';
import { createGraphQLServer } from '../../src/graphql/yoga.ts';
import { newId } from '../../src/ids.ts';
import { runInRequest } from '../../src/request-context.ts';
import type { GraphQLContext } from '../../src/schema/context.ts';

const SECRET = 'password of the database is xyzzy';
const REQUEST_ID = 'req_87654321';

type Logged = { level: number; err?: { message: string } };
let logged: Logged[];
const log = pino({ level: 'warn' }, { write: (line: string) => logged.push(JSON.parse(line)) });
const mask = createErrorMask(log, 'https://tollgate.example');

beforeEach(() => {
  logged = [];
});

const masked = (error: unknown) => runInRequest({ requestId: REQUEST_ID }, () => mask(error));

describe('the error mask', () => {
  test('keeps documented errors with their details', () => {
    const error = masked(new GraphQLError('x', { path: ['a'], originalError: invalidField('/name', 'Is too long.') }));
    expect(error.toJSON()).toMatchObject({
      path: ['a'],
      extensions: {
        code: 'VALIDATION_FAILED',
        type: 'https://tollgate.example/docs/errors#validation_failed',
        retryable: false,
        requestId: REQUEST_ID,
        field: '/name',
        errors: [{ pointer: '/name', message: 'Is too long.' }],
      },
    });
    expect(logged).toEqual([]);
  });

  test('keeps the error itself for REST, which no response contains', () => {
    const thrown = new AppError('CONFLICT', { detail: 'It exists.', headers: { location: '/there' } });
    const error = masked(new GraphQLError('x', { path: ['a'], originalError: thrown }));
    expect(appErrorOf(error)).toBe(thrown);
    expect(Object.keys(error.toJSON()).sort()).toEqual(['extensions', 'message', 'path']);
  });

  test('says when to retry', () => {
    const { extensions } = masked(new AppError('RATE_LIMITED', { retryAfterSeconds: 7 }));
    expect(extensions).toMatchObject({ code: 'RATE_LIMITED', retryable: true, retryAfterSeconds: 7 });
  });

  test.each<[string, unknown]>([
    ['an error', new Error(SECRET)],
    ['a string', SECRET],
    ['nothing', undefined],
    ['an error of a resolver', new GraphQLError(SECRET, { path: ['a'], originalError: new Error(SECRET) })],
    [
      'an error within an error',
      new GraphQLError('a', { originalError: new GraphQLError('b', { originalError: new TypeError(SECRET) }) }),
    ],
    // For example, "Enum cannot represent value", which graphql-js throws for a resolver's result.
    [
      'a value that does not fit its field',
      new GraphQLError('a', { path: ['a'], originalError: new GraphQLError(SECRET) }),
    ],
    [
      'an error with the code of a documented one',
      Object.assign(new Error(SECRET), { code: 'NOT_FOUND', status: 404 }),
    ],
  ])('hides and logs unexpected errors: %s', (_name, thrown) => {
    const error = masked(thrown);
    expect(error.extensions).toMatchObject({ code: 'INTERNAL', retryable: true, requestId: REQUEST_ID });
    expect(JSON.stringify(error)).not.toContain('xyzzy');
    expect(error.originalError).toBeUndefined();
    expect(logged).toMatchObject([{ level: 50 }]);
  });

  test('keeps the message of document errors, and adds a code', () => {
    const error = masked(
      new GraphQLError('Cannot query field "nothing" on type "Query".', { nodes: [{ kind: Kind.NAME, value: 'a' }] }),
    );
    expect(error.message).toBe('Cannot query field "nothing" on type "Query".');
    expect(error.extensions).toMatchObject({ code: 'GRAPHQL_INVALID', retryable: false, requestId: REQUEST_ID });
    expect(logged).toEqual([]);
  });

  test('says that a row is not found if it was deleted before the response was written', () => {
    const gone = new Prisma.PrismaClientKnownRequestError('No record was found.', {
      code: 'P2025',
      clientVersion: '7',
    });
    const error = new GraphQLError(gone.message, { path: ['a'], originalError: gone });
    expect(masked(error).extensions).toMatchObject({ code: 'NOT_FOUND', retryable: false });
    expect(errorCodeOf(error)).toBe('NOT_FOUND');
    expect(logged).toEqual([]);
  });

  test('ignores unknown codes', () => {
    for (const code of ['GRAPHQL_VALIDATION_FAILED', 'constructor', '__proto__', 5]) {
      expect(masked(new GraphQLError('x', { extensions: { code } })).extensions.code).toBe('GRAPHQL_INVALID');
    }
  });

  test('does not change errors that are already masked', () => {
    for (const thrown of [new Error(SECRET), new AppError('NOT_FOUND'), new GraphQLError('Syntax Error: x')]) {
      const once = masked(thrown);
      expect(masked(once).toJSON()).toEqual(once.toJSON());
    }
  });

  test('shortens long messages', () => {
    expect(masked(new GraphQLError(`Cannot query field "${'x'.repeat(10_000)}".`)).message.length).toBeLessThan(310);
    expect(masked(new GraphQLError(`${'x'.repeat(299)}\u{1F600}`)).message.isWellFormed()).toBe(true);
  });
});

describe('a GraphQL server', () => {
  const projectId = newId('Project');
  const ask = async (query: string, services: unknown) => {
    const { yoga } = createGraphQLServer({ log, ownDocuments: new Set(), publicUrl: undefined, poolSize: 20 });
    const response = await yoga.fetch(
      'http://server/graphql',
      { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ query }) },
      { viewer: { kind: 'user' }, services, requestId: REQUEST_ID } as unknown as GraphQLContext,
    );
    return (await response.json()) as { data?: unknown; errors?: { path?: unknown; extensions: unknown }[] };
  };

  test('returns the other fields along with a masked error', async () => {
    const services = { projects: { find: () => Promise.reject(new Error(SECRET)) } };
    const answer = await ask(`{ __typename project(id: "${projectId}") { name } }`, services);
    expect(answer).toMatchObject({
      data: { __typename: 'Query', project: null },
      errors: [{ path: ['project'], extensions: { code: 'INTERNAL', retryable: true } }],
    });
    expect(JSON.stringify(answer)).not.toContain('xyzzy');
    expect(logged).toMatchObject([{ err: { message: SECRET } }]);
  });

  test('hides a value that does not fit the schema', async () => {
    const project = { id: projectId, name: { toString: undefined, secret: SECRET } };
    const answer = await ask(`{ project(id: "${projectId}") { name } }`, { projects: { find: async () => project } });
    expect(answer.errors).toMatchObject([{ extensions: { code: 'INTERNAL' } }]);
    expect(JSON.stringify(answer)).not.toContain('xyzzy');
    expect(logged).toHaveLength(1);
  });

  test.each([
    ['costs too much', '{ projects(first: 100) { nodes { endpoints(first: 100) { nodes { id path } } } } }'],
    [
      'is nested too deeply',
      `{ project(id: "${projectId}") ${'{ events { nodes '.repeat(6)} { id } ${'} }'.repeat(6)} }`,
    ],
    ['has too many aliases', `{ ${Array.from({ length: 31 }, (_, index) => `a${index}: viewer { tier }`).join(' ')} }`],
    ['has too many directives', `{ viewer ${'@skip(if: false) '.repeat(21)} { tier } }`],
    ['has too many tokens', `{ ${'viewer { tier } '.repeat(600)} }`],
    ['is too long', `{ viewer { tier } } # ${'x'.repeat(33_000)}`],
    ['has only one invalid field', '{ viewer { tier } nothing }'],
    ['is too expensive in an operation that is not the first', '{ __typename }'],
  ])('calls no resolver for a document that %s', async (why, query) => {
    const touched: PropertyKey[] = [];
    const services = new Proxy({}, { get: (_target, name) => void touched.push(name) });
    const { yoga } = createGraphQLServer({ log, ownDocuments: new Set(), publicUrl: undefined, poolSize: 20 });
    const isSecond = why.includes('not the first');
    const document = isSecond
      ? 'query Cheap { __typename } query Dear { projects(first: 100) { nodes { events(first: 100) { nodes { id type } } } } }'
      : query;
    const response = await yoga.fetch(
      'http://server/graphql',
      {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/graphql-response+json' },
        body: JSON.stringify({ query: document, ...(isSecond && { operationName: 'Dear' }) }),
      },
      { viewer: { kind: 'user' }, services, requestId: REQUEST_ID } as unknown as GraphQLContext,
    );
    const { data, errors } = (await response.json()) as { data?: unknown; errors: { extensions: { code: string } }[] };
    expect(response.status).toBe(400);
    expect(data).toBeUndefined();
    expect(errors[0]!.extensions.code).toMatch(/^GRAPHQL_/);
    expect(touched).toEqual([]);
  });
});

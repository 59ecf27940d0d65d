import pino from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { runPlainRequest } from '../../src/graphql/plain-requests.ts';
import { createGraphQLServer } from '../../src/graphql/yoga.ts';
import type { GraphQLContext } from '../../src/schema/context.ts';

const server = createGraphQLServer({
  log: pino({ level: 'silent' }),
  ownDocuments: new Set(),
  publicUrl: undefined,
  poolSize: 10,
});
const PREVIEW = 'mutation ($input: PreviewImportInput!) { previewImport(input: $input) { title } }';
const UNKNOWN = 'Variable "$input" got an invalid value; Field "k0" is not defined by type "PreviewImportInput".';

const unknownFields = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index]));

async function messagesFor(query: string, variables: Record<string, unknown>): Promise<string[]> {
  const request = { params: { query, variables }, mediaType: 'application/json' } as const;
  const { body } = await runPlainRequest(server, request, {} as GraphQLContext);
  return JSON.parse(body).errors.map(({ message }: { message: string }) => message);
}

afterEach(() => vi.restoreAllMocks());

test('no matter how many fields of a variable are unknown, at most two error messages contain the variable', async () => {
  const input = { projectId: 'x', document: 'x', ...unknownFields(300) };
  const listing = vi.spyOn(Object, 'entries');
  expect(await messagesFor(PREVIEW, { input })).toEqual([UNKNOWN]);
  // graphql-js lists an object's fields to quote them.
  const quoted = listing.mock.calls.filter(([value]) => typeof value === 'object' && 'k0' in value);
  expect(quoted.length).toBeLessThanOrEqual(2);
});

test('only the first of many invalid items is reported', async () => {
  const creating = vi.spyOn(Error, 'captureStackTrace');
  const ids = Array.from({ length: 300 }, () => true);
  expect(await messagesFor('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids })).toEqual([
    'Variable "$ids" got an invalid value at "ids[0]"; ID cannot represent value.',
  ]);
  expect(creating.mock.calls.length).toBeLessThan(100);
});

test('error messages do not contain a document to import', async () => {
  const input = { projectId: 'x', document: 'x'.repeat(100_000), ...unknownFields(3) };
  const writing = vi.spyOn(JSON, 'stringify');
  expect(await messagesFor(PREVIEW, { input })).toEqual([UNKNOWN]);
  expect(writing.mock.calls.filter(([value]) => value === input.document)).toEqual([]);
});

test.each([
  ['a variable', '$ids: [ID!]!', { ids: Array.from({ length: 1_000 }, () => 'x') }],
  ['a default value', `$ids: [ID!]! = [${'"x" '.repeat(1_000)}]`, {}],
])('a list of more than 100 IDs is rejected before any field decodes it: %s', async (_where, definition, variables) => {
  const decoding = vi.spyOn(RegExp.prototype, 'exec');
  const fields = Array.from({ length: 30 }, (_, index) => `a${index}: nodes(ids: $ids) { id }`).join(' ');
  const messages = await messagesFor(`query (${definition}) { ${fields} }`, variables);
  expect(decoding.mock.calls.filter(([text]) => text === 'x')).toHaveLength(0);
  expect(messages).toEqual(['Invalid ids: must have at most 100 IDs.']);
});

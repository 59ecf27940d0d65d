import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { buildSchema } from 'graphql';
import { describe, expect, test } from 'vitest';
import { searchSchema } from '../../src/console/api/graphql-schema.ts';
import { titleOf, withEntry } from '../../src/console/pages/graphql/history.ts';
import {
  faultsInVariables,
  fromFragment,
  operationAt,
  operationsIn,
  parseVariables,
  toFragment,
} from '../../src/console/pages/graphql/operations.ts';
import { prettify } from '../../src/console/pages/graphql/prettify.ts';
import { GRAPHQL_SAMPLES, sampleOf } from '../../src/console/pages/graphql/samples.ts';

const schema = buildSchema(readFileSync(resolve(import.meta.dirname, '../../schema.graphql'), 'utf8'));

const TWO = `query One { viewer { id } }
mutation Two($input: CreateProjectInput!) { createProject(input: $input) { project { id } } }
fragment Three on Project { id }`;

describe('operations in the GraphQL explorer', () => {
  test('the operation at the cursor is the one that contains or precedes it', () => {
    const operations = operationsIn(TWO);
    const nameAt = (offset: number) => operationAt(operations, offset)?.name?.value;
    expect([0, 5, TWO.indexOf('mutation') - 1].map(nameAt)).toEqual(['One', 'One', 'One']);
    expect([TWO.indexOf('mutation'), TWO.length].map(nameAt)).toEqual(['Two', 'Two']);
    expect(operationAt(operationsIn('# A comment\n{ viewer { id } }'), 0)?.operation).toBe('query');
    expect(operationsIn('query {')).toEqual([]);
  });

  test('variables are an object, and blank text means none', () => {
    expect(parseVariables('{"first": 10}')).toEqual({ first: 10 });
    expect(parseVariables(' \n')).toEqual({});
    expect(['[1]', 'null', '1', '{"first":'].map(parseVariables)).toEqual(Array(4).fill(undefined));
  });

  test('variables are checked against the types in the schema', () => {
    const [, two] = operationsIn(TWO);
    const faults = (variables: unknown) => faultsInVariables(schema, two, variables);
    expect(faults({ unused: 1 })).toEqual([
      { pointer: '', message: 'Variable "$input" of required type "CreateProjectInput!" was not provided.' },
    ]);
    expect(faults({ input: { name: 5, walletAddress: '0x1' } })).toEqual([
      { pointer: '/input', message: expect.stringContaining('at "input.name"') },
    ]);
    expect(faults({ input: { name: 'Weather', walletAddress: '0x1' } })).toEqual([]);
    expect(faults([])).toEqual([{ pointer: '', message: 'Must be a JSON object, such as {"first": 10}.' }]);
    const [unknown] = operationsIn('query ($x: NoSuchType) { viewer { id } }');
    expect(faultsInVariables(schema, unknown, { x: 1 })).toEqual([]);
    expect(faultsInVariables(undefined, two, {})).toEqual([]);
  });

  test('a link contains the operation and its variables in its fragment', () => {
    const draft = { query: '{ a(b: "&#=?") }\n# é', variables: '{"first": 10}' };
    expect(toFragment(draft)).toMatch(/^#query=/);
    expect(fromFragment(toFragment(draft))).toEqual(draft);
    expect(fromFragment('#query=%7B%7D')).toEqual({ query: '{}', variables: '{}' });
    expect(fromFragment('#page')).toBeUndefined();
    expect(fromFragment('')).toBeUndefined();
  });

  test('the curl command names the operation, and a subscription asks for server-sent events', () => {
    const [one] = operationsIn(TWO);
    expect(GRAPHQL_SAMPLES.curl(sampleOf(TWO, { name: "it's" }, one, 'https://tollgate.example.com'))).toBe(
      [
        `curl -sS 'https://tollgate.example.com/graphql'`,
        `-H "Authorization: Bearer $TOLLGATE_TOKEN"`,
        `-H 'Content-Type: application/json'`,
        `-d '${JSON.stringify({ query: TWO, variables: { name: "it's" }, operationName: 'One' }).replace("it's", String.raw`it'\''s`)}'`,
      ].join(' \\\n  '),
    );
    const query = 'subscription { eventRecorded(projectId: "proj_1") { cursor } }';
    const live = GRAPHQL_SAMPLES.curl(sampleOf(query, {}, operationsIn(query)[0], 'https://tollgate.example.com'));
    expect(live).toContain("curl -sS -N '");
    expect(live).toContain('Accept: text/event-stream');
    expect(live).not.toContain('operationName');
  });

  test('prettifying keeps comments, and doesn’t change text that can’t be parsed', async () => {
    const before = { query: '# Why\nquery A{viewer{id # This one\n tier}}', variables: '{"a":1}' };
    expect(await prettify(before)).toEqual({
      query: '# Why\nquery A {\n  viewer {\n    id # This one\n    tier\n  }\n}\n',
      variables: '{\n  "a": 1\n}',
    });
    const broken = { query: 'query {', variables: '{' };
    expect(await prettify(broken)).toEqual(broken);
  });
});

describe('the history of the GraphQL explorer', () => {
  const entry = (query: string, variables = '{}') => ({ query, variables });

  test('an operation that is run again moves to the front, and only the latest ones are kept', () => {
    const once = withEntry(withEntry([], entry('{ a }'), '1'), entry('{ b }'), '2');
    expect(withEntry(once, entry('{ a }'), '3').map(({ query, at }) => [query, at])).toEqual([
      ['{ a }', '3'],
      ['{ b }', '2'],
    ]);
    const many = Array.from({ length: 50 }, (_, index) => entry(`{ a${index} }`));
    const kept = many.reduce(
      (entries, one, index) => withEntry(entries, one, String(index)),
      withEntry([], many[0]!, '-'),
    );
    expect(kept.map(({ query }) => query)).toEqual(
      many
        .slice(-30)
        .reverse()
        .map(({ query }) => query),
    );
  });

  test('variables of mutations aren’t kept, because they can contain secrets', () => {
    const secret = '{"input": {"token": "secret"}}';
    expect(JSON.stringify(withEntry([], entry(TWO, secret), '1'))).not.toContain('secret');
    expect(JSON.stringify(withEntry([], entry('{ a }', secret), '1'))).toContain('secret');
    // A document that can't be parsed may contain a mutation.
    expect(JSON.stringify(withEntry([], entry('mutation {', secret), '1'))).not.toContain('secret');
  });

  test('an entry’s title is the names of its operations, or else the start of its text', () => {
    expect(titleOf(entry(TWO))).toBe('One, Two');
    expect(titleOf(entry('{\n  viewer { id }\n}'))).toBe('{ viewer { id } }');
  });
});

test('the schema is searched by names first, then by descriptions', () => {
  const places = searchSchema(schema, ['replay', 'skipped']).map(({ typeName, member }) => `${typeName}.${member}`);
  expect(places[0]).toBe('Replay.skipped');
  expect(searchSchema(schema, ['nothing', 'like', 'this'])).toEqual([]);
  expect(searchSchema(schema, ['__schema'])).toEqual([]);
});

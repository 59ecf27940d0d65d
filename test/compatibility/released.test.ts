import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CriticalityLevel, diff } from '@graphql-inspector/core';
import { buildSchema } from 'graphql';
import { describe, expect, test } from 'vitest';
import { breakingChanges } from './openapi-changes.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFile(resolve(ROOT, path), 'utf8');

const released = {
  graphql: await read('test/compatibility/released/schema.graphql'),
  openapi: await read('test/compatibility/released/openapi.json'),
};

async function breakingInGraphql(before: string, after: string): Promise<string[]> {
  const changes = await diff(buildSchema(before), buildSchema(after));
  return changes
    .filter(({ criticality }) => criticality.level === CriticalityLevel.Breaking)
    .map(({ message }) => message);
}

// A change that has to break its callers is noted in the changelog, and renews the released files: see CONTRIBUTING.md.
describe('programs written for the last release go on working', () => {
  test('over GraphQL', async () => {
    expect(await breakingInGraphql(released.graphql, await read('schema.graphql'))).toEqual([]);
  });

  test('over REST', async () => {
    expect(breakingChanges(JSON.parse(released.openapi), JSON.parse(await read('docs/openapi.json')))).toEqual([]);
  });
});

describe('the comparison tells', () => {
  const SCHEMA = `
    type Query { endpoints(filter: Filter): [Endpoint!]! }
    type Endpoint { path: String! priceUsd: String! state: State! }
    input Filter { path: String }
    enum State { ACTIVE PAUSED }`;

  test.each([
    ['a field that is gone', 'priceUsd: String! ', '', /'priceUsd' was removed/],
    ['a field that may be null', 'priceUsd: String!', 'priceUsd: String', /changed type/],
    ['a field of an input that has become required', '{ path: String }', '{ path: String! }', /changed type/],
    ['a required field more of an input', '{ path: String }', '{ path: String, id: ID! }', /'id'.*was added/],
    ['an enum value that is gone', ' PAUSED', '', /'PAUSED' was removed/],
  ])('%s of GraphQL', async (_what, was, is, message) => {
    expect((await breakingInGraphql(SCHEMA, SCHEMA.replace(was, is))).join()).toMatch(message);
    expect(await breakingInGraphql(SCHEMA, SCHEMA)).toEqual([]);
  });

  const PATH = '/api/projects/{projectId}/endpoints';
  const post = ['paths', PATH, 'post'];
  const body = [...post, 'requestBody', 'content', 'application/json', 'schema'];
  const answer = [...post, 'responses', '201', 'content', 'application/json', 'schema'];
  const list = ['paths', PATH, 'get', 'parameters'];

  // What, where, the value there (none: it is taken out), what is told.
  test.each<[string, string[], unknown, string]>([
    ['a path that is gone', ['paths', PATH], undefined, `POST ${PATH}: is gone`],
    ['a method that is gone', post, undefined, `POST ${PATH}: is gone`],
    [
      'a field of the request that has become required',
      [...body, 'required'],
      ['path', 'upstreamUrl', 'priceUsd', 'description'],
      `POST ${PATH}: body.description has become required`,
    ],
    [
      'a field of the request that is no longer taken',
      [...body, 'properties', 'description'],
      undefined,
      `POST ${PATH}: body.description is no longer taken`,
    ],
    [
      'a field of the request of another type',
      [...body, 'properties', 'priceUsd', 'type'],
      'number',
      `POST ${PATH}: body.priceUsd no longer takes the type string`,
    ],
    [
      'a field of the answer that is gone',
      [...answer, 'properties', 'priceUsd'],
      undefined,
      `POST ${PATH}: 201.priceUsd is gone`,
    ],
    [
      'a field of the answer that may be missing',
      [...answer, 'required'],
      ['id'],
      `POST ${PATH}: 201.priceUsd may be missing`,
    ],
    [
      'a field of the answer that may be null',
      [...answer, 'properties', 'priceUsd', 'type'],
      ['string', 'null'],
      `POST ${PATH}: 201.priceUsd may be of the type null`,
    ],
    ['a parameter that is no longer taken', list, [], `GET ${PATH}: query parameter after is no longer taken`],
    [
      'a parameter that has become required',
      [...list, '1', 'required'],
      true,
      `GET ${PATH}: query parameter limit has become required`,
    ],
    [
      'an answer that is no longer given',
      [...post, 'responses', '409'],
      undefined,
      `POST ${PATH}: answers 409 no longer`,
    ],
  ])('%s of REST', (_what, path, value, message) => {
    const changed = JSON.parse(released.openapi);
    put(changed, path, value);
    expect(breakingChanges(JSON.parse(released.openapi), changed)).toContain(message);
  });

  test('what only grows is no break', () => {
    const changed = JSON.parse(released.openapi);
    put(changed, ['paths', '/api/new'], { get: { responses: {} } });
    put(changed, [...body, 'properties', 'note'], { type: 'string' });
    put(changed, [...answer, 'properties', 'note'], { type: 'string' });
    put(changed, [...post, 'responses', '418'], { description: 'new' });
    expect(breakingChanges(JSON.parse(released.openapi), changed)).toEqual([]);
  });
});

type Node = { [key: string]: Node };

/** Puts a value at that place of a document, or takes out what is there. */
function put(document: Node, path: readonly string[], value: unknown): void {
  const parent = path.slice(0, -1).reduce((node, key) => node[key]!, document);
  const key = path.at(-1)!;
  expect(parent, path.join(' ')).toBeTypeOf('object');
  if (value === undefined) delete parent[key];
  else parent[key] = value as Node;
}

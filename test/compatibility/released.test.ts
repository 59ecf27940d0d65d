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

// An intended breaking change needs a changelog entry and new released files: see CONTRIBUTING.md.
describe('clients of the last release keep working', () => {
  test('over GraphQL', async () => {
    expect(await breakingInGraphql(released.graphql, await read('schema.graphql'))).toEqual([]);
  });

  test('over REST', async () => {
    expect(breakingChanges(JSON.parse(released.openapi), JSON.parse(await read('docs/openapi.json')))).toEqual([]);
  });
});

describe('the comparison reports', () => {
  const SCHEMA = `
    type Query { endpoints(filter: Filter): [Endpoint!]! }
    type Endpoint { path: String! priceUsd: String! state: State! }
    input Filter { path: String }
    enum State { ACTIVE PAUSED }`;

  test.each([
    ['a removed field', 'priceUsd: String! ', '', /'priceUsd' was removed/],
    ['a field that can be null', 'priceUsd: String!', 'priceUsd: String', /changed type/],
    ['an input field that became required', '{ path: String }', '{ path: String! }', /changed type/],
    ['a new required input field', '{ path: String }', '{ path: String, id: ID! }', /'id'.*was added/],
    ['a removed enum value', ' PAUSED', '', /'PAUSED' was removed/],
  ])('%s in GraphQL', async (_what, was, is, message) => {
    expect((await breakingInGraphql(SCHEMA, SCHEMA.replace(was, is))).join()).toMatch(message);
    expect(await breakingInGraphql(SCHEMA, SCHEMA)).toEqual([]);
  });

  const PATH = '/api/projects/{projectId}/endpoints';
  const post = ['paths', PATH, 'post'];
  const body = [...post, 'requestBody', 'content', 'application/json', 'schema'];
  const answer = [...post, 'responses', '201', 'content', 'application/json', 'schema'];
  const list = ['paths', PATH, 'get', 'parameters'];

  // Title, path in the document, new value (undefined removes it), expected message.
  test.each<[string, string[], unknown, string]>([
    ['a removed path', ['paths', PATH], undefined, `POST ${PATH}: was removed`],
    ['a removed method', post, undefined, `POST ${PATH}: was removed`],
    [
      'a request field that became required',
      [...body, 'required'],
      ['path', 'upstreamUrl', 'priceUsd', 'description'],
      `POST ${PATH}: body.description has become required`,
    ],
    [
      'a request field that is no longer accepted',
      [...body, 'properties', 'description'],
      undefined,
      `POST ${PATH}: body.description is no longer accepted`,
    ],
    [
      'a request field with another type',
      [...body, 'properties', 'priceUsd', 'type'],
      'number',
      `POST ${PATH}: body.priceUsd no longer accepts the type string`,
    ],
    [
      'a removed response field',
      [...answer, 'properties', 'priceUsd'],
      undefined,
      `POST ${PATH}: 201.priceUsd was removed`,
    ],
    [
      'a response field that can be missing',
      [...answer, 'required'],
      ['id'],
      `POST ${PATH}: 201.priceUsd can be missing`,
    ],
    [
      'a response field that can be null',
      [...answer, 'properties', 'priceUsd', 'type'],
      ['string', 'null'],
      `POST ${PATH}: 201.priceUsd can have the type null`,
    ],
    ['a parameter that is no longer accepted', list, [], `GET ${PATH}: query parameter after is no longer accepted`],
    [
      'a parameter that became required',
      [...list, '1', 'required'],
      true,
      `GET ${PATH}: query parameter limit has become required`,
    ],
    ['a removed response', [...post, 'responses', '409'], undefined, `POST ${PATH}: no longer returns 409`],
  ])('%s in REST', (_what, path, value, message) => {
    const changed = JSON.parse(released.openapi);
    put(changed, path, value);
    expect(breakingChanges(JSON.parse(released.openapi), changed)).toContain(message);
  });

  test('no breaking change when fields, paths, and responses are only added', () => {
    const changed = JSON.parse(released.openapi);
    put(changed, ['paths', '/api/new'], { get: { responses: {} } });
    put(changed, [...body, 'properties', 'note'], { type: 'string' });
    put(changed, [...answer, 'properties', 'note'], { type: 'string' });
    put(changed, [...post, 'responses', '418'], { description: 'new' });
    expect(breakingChanges(JSON.parse(released.openapi), changed)).toEqual([]);
  });
});

type Node = { [key: string]: Node };

/** Sets the value at `path` in the document, or removes it if `value` is undefined. */
function put(document: Node, path: readonly string[], value: unknown): void {
  const parent = path.slice(0, -1).reduce((node, key) => node[key]!, document);
  const key = path.at(-1)!;
  expect(parent, path.join(' ')).toBeTypeOf('object');
  if (value === undefined) delete parent[key];
  else parent[key] = value as Node;
}

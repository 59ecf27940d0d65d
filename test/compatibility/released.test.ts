import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { buildSchema } from 'graphql';
import { describe, expect, test } from 'vitest';
import { schema } from '../../src/graphql/schema.ts';
import { withResponses } from '../support/openapi.ts';
import { breakingInGraphql, unclearDeprecations } from './deprecations.ts';
import { eventChanges } from './event-changes.ts';
import { breakingChanges } from './openapi-changes.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFile(resolve(ROOT, path), 'utf8');

const released = {
  graphql: await read('test/compatibility/released/schema.graphql'),
  openapi: await read('test/compatibility/released/openapi.json'),
  events: await read('test/compatibility/released/event-schemas.json'),
  /** Where the released OpenAPI document promised something that the released server already refused. */
  corrections: JSON.parse(await read('test/compatibility/released/corrections.json')) as string[],
};

const TODAY = new Date().toISOString().slice(0, 10);

// docs/versioning.md explains how to remove something. Other breaking changes need a changelog entry and new released
// files: see CONTRIBUTING.md.
describe('clients of the last release', () => {
  test('keep working over GraphQL', async () => {
    expect(await breakingInGraphql(released.graphql, await read('schema.graphql'), TODAY)).toEqual([]);
  });

  test('keep working over REST', async () => {
    const current = withResponses(JSON.parse(await read('docs/openapi.json')));
    expect(breakingChanges(withResponses(JSON.parse(released.openapi)), current)).toEqual(released.corrections);
  });

  test('keep working with the events that they receive', async () => {
    expect(eventChanges(JSON.parse(released.events), JSON.parse(await read('docs/event-schemas.json')))).toEqual([]);
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
    expect((await breakingInGraphql(SCHEMA, SCHEMA.replace(was, is), TODAY)).join()).toMatch(message);
    expect(await breakingInGraphql(SCHEMA, SCHEMA, TODAY)).toEqual([]);
  });

  const MARKED = '@deprecated(reason: "Use `price`. It will be removed after 2026-06-30.")';
  const DEPRECATED = `
    type Query { endpoints(filter: Filter, all: Boolean ${MARKED}): [Endpoint!]! }
    type Endpoint { path: String! priceUsd: String! ${MARKED} state: State! }
    input Filter { path: String, prefix: String ${MARKED} }
    enum State { ACTIVE PAUSED ${MARKED} }`;

  test.each([
    ['a field', `priceUsd: String! ${MARKED}`],
    ['an argument', `, all: Boolean ${MARKED}`],
    ['an input field', `, prefix: String ${MARKED}`],
    ['an enum value', ` PAUSED ${MARKED}`],
  ])('the removal of %s in GraphQL until the date in its deprecation reason', async (_what, place) => {
    const removed = DEPRECATED.replace(place, '');
    expect(removed).not.toBe(DEPRECATED);
    expect(await breakingInGraphql(DEPRECATED, removed, '2026-06-30')).toHaveLength(1);
    expect(await breakingInGraphql(DEPRECATED, removed, '2026-07-01')).toEqual([]);
    const withoutDay = DEPRECATED.replaceAll(/ It will be removed after [\d-]+\./g, '');
    const unmarked = place.replace(/ It will be removed after [\d-]+\./, '');
    expect(await breakingInGraphql(withoutDay, withoutDay.replace(unmarked, ''), '2026-07-01')).toHaveLength(1);
  });

  test('deprecations in GraphQL that do not say what to use instead, or until when', () => {
    expect(unclearDeprecations(buildSchema(DEPRECATED))).toEqual([]);
    const unclear = DEPRECATED.replaceAll('Use `price`. ', '');
    expect(unclearDeprecations(buildSchema(unclear)).sort()).toEqual([
      ...['Endpoint.priceUsd', 'Filter.prefix', 'Query.endpoints.all', 'State.PAUSED'],
    ]);
    expect(unclearDeprecations(schema)).toEqual([]);
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
      'a request field whose type changed',
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

  test.each<[string, string[], string]>([
    ['an operation', post, 'was removed'],
    ['a request field', [...body, 'properties', 'description'], 'is no longer accepted'],
    ['a response field', [...answer, 'properties', 'priceUsd'], 'was removed'],
    ['a parameter', [...list, '1'], 'is no longer accepted'],
  ])('the removal of %s in REST until its sunset date', (_what, path, message) => {
    const before = JSON.parse(released.openapi);
    put(before, [...path, 'deprecated'], true);
    put(before, [...path, 'x-sunset'], '2026-06-30');
    const after = structuredClone(before);
    if (path.includes('parameters')) after.paths[PATH].get.parameters.splice(1, 1);
    else put(after, path, undefined);
    expect(breakingChanges(before, after, '2026-06-30').join()).toContain(message);
    expect(breakingChanges(before, after, '2026-07-01')).toEqual([]);
  });

  const settled = ['$defs', 'payment.settled', 'properties', 'data'];

  test.each<[string, string[], unknown, string]>([
    ['a removed type', settled.slice(0, 2), undefined, 'payment.settled: was removed'],
    ['a removed field', [...settled, 'properties', 'payer'], undefined, 'payment.settled: payer was removed'],
    [
      'a field of a different type',
      [...settled, 'properties', 'payer'],
      { type: 'string' },
      'payment.settled: payer has a different type',
    ],
    ['a field that can be missing', [...settled, 'required'], [], 'payment.settled: payer can be missing'],
  ])('%s in events', (_what, path, value, message) => {
    const changed = JSON.parse(released.events);
    put(changed, path, value);
    expect(eventChanges(JSON.parse(released.events), changed)).toContain(message);
  });

  test('a new required field in events, because recorded events do not have it', () => {
    const changed = JSON.parse(released.events);
    const data = changed.$defs['payment.settled'].properties.data;
    data.properties.note = { type: 'string' };
    expect(eventChanges(JSON.parse(released.events), changed)).toEqual([]);
    data.required.push('note');
    expect(eventChanges(JSON.parse(released.events), changed)).toEqual([
      "payment.settled: note is required, but recorded events don't have it",
    ]);
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

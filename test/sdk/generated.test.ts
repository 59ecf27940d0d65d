import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type GraphQLEnumType, parse, validate } from 'graphql';
import { expect, test } from 'vitest';
import { LIVE_FIELDS, OPERATIONS } from '../../packages/sdk/src/generated.ts';
import { graphqlName, type LiveResource, subscriptionOf } from '../../packages/sdk/src/live.ts';
import { parseSource } from '../../scripts/folders.ts';
import { type OpenApi, sdkSource } from '../../scripts/sdk-source.ts';
import { schema } from '../../src/graphql/schema.ts';
import { createOpenApi } from '../../src/rest/openapi.ts';
import { ROUTES } from '../../src/rest/routes.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const live = Object.keys(LIVE_FIELDS) as LiveResource[];

test('the SDK has exactly one method for every REST route', () => {
  const methods = Object.values(OPERATIONS).flatMap((operations) =>
    Object.values<{ method: string; path: string }>(operations).map(({ method, path }) => `${method} ${path}`),
  );
  const routes = ROUTES.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
  expect(methods.sort()).toEqual(routes.sort());
});

test('the SDK has a type for every component in the OpenAPI document', () => {
  const openApi = createOpenApi(schema) as OpenApi;
  const source = sdkSource(openApi);
  const types = Array.from(source.matchAll(/^export type (\w+)/gm), ([, name]) => name!);
  expect(types).toEqual(expect.arrayContaining(Object.keys(openApi.components.schemas)));
  expect(new Set(types).size).toBe(types.length);
});

test('the SDK generator rejects a tag without a resource and two methods with the same name', () => {
  const operation = (operationId: string, tag: string) => ({ operationId, summary: 'x', tags: [tag], responses: {} });
  const openApi = (...operations: ReturnType<typeof operation>[]) => ({
    ...(createOpenApi(schema) as OpenApi),
    paths: Object.fromEntries(operations.map((each, index) => [`/api/${index}`, { get: each }])),
  });
  expect(() => sdkSource(openApi(operation('listThings', 'things')))).toThrow('things has no resource');
  const twice = openApi(operation('getWebhook', 'webhooks'), operation('getWebhooks', 'webhooks'));
  expect(() => sdkSource(twice)).toThrow('get is taken');
});

test('every subscription in the SDK is valid in the GraphQL schema', () => {
  for (const resource of live) {
    const { query } = subscriptionOf(resource, {}, 'proj_1');
    expect(validate(schema, parse(query)), query).toEqual([]);
  }
});

test('the SDK has the GraphQL name of every enum value that REST spells differently', () => {
  for (const name of ['EventType', 'NoticeType']) {
    for (const { name: inGraphQL, value } of (schema.getType(name) as GraphQLEnumType).getValues()) {
      expect(graphqlName(value)).toBe(inGraphQL);
    }
  }
});

test('the SDK’s source code imports nothing from outside the SDK', () => {
  const paths = globSync('packages/sdk/src/*.ts', { cwd: ROOT });
  expect(paths.length).toBeGreaterThan(10);
  const foreign = paths.flatMap((path) =>
    parseSource(path, readFileSync(join(ROOT, path), 'utf8'))
      .imports.filter(({ target }) => !target.startsWith('packages/sdk/src/'))
      .map(({ target }) => `${path} imports ${target}`),
  );
  expect(foreign).toEqual([]);
});

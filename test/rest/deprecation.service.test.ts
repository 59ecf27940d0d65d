import { buildSchema, type GraphQLInputObjectType } from 'graphql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OpenApi, sdkSource } from '../../scripts/sdk-source.ts';
import { schema } from '../../src/graphql/schema.ts';
import { createOpenApi } from '../../src/rest/openapi.ts';
import { inputObjectSchema } from '../../src/rest/openapi-schemas.ts';
import { ROUTES } from '../../src/rest/routes.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';

/** A hypothetical version in which listing projects is deprecated. */
const routes = ROUTES.map((route) =>
  route.operationId === 'listProjects'
    ? { ...route, deprecated: { since: '2026-01-01', sunset: '2026-07-01', advice: 'Use the SDK.' } }
    : route,
);

let app: TestApp;
let alice: TestUser;
beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' }, routes });
  alice = await app.user('alice');
});
afterAll(() => app?.stop());

test('every response from a deprecated operation says when it was deprecated and how long it will stay available', async () => {
  for (const token of [alice.token, 'wrong']) {
    const { headers, status } = await fetch(`${app.url}/api/projects`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(status).toBe(token === 'wrong' ? 401 : 200);
    expect(headers.get('deprecation')).toBe('@1767225600');
    expect(headers.get('sunset')).toBe('Wed, 01 Jul 2026 00:00:00 GMT');
  }
});

test('other operations do not have these headers, not even on the same path', async () => {
  for (const [method, path] of [
    ['GET', '/api/connector-types'],
    ['POST', '/api/projects'],
  ] as const) {
    const { headers } = await alice.rest(method, path, method === 'POST' ? {} : undefined);
    expect([headers.get('deprecation'), headers.get('sunset')]).toEqual([null, null]);
  }
});

test('a deprecated operation is marked in the OpenAPI document and in the SDK', () => {
  const openApi = createOpenApi(schema, routes) as OpenApi;
  const { get, post } = openApi.paths['/api/projects']!;
  expect(get).toMatchObject({ deprecated: true, 'x-sunset': '2026-07-01', description: 'Use the SDK.' });
  expect(Object.keys(get!.responses['200']!.headers!)).toEqual(expect.arrayContaining(['Deprecation', 'Sunset']));
  expect(post).not.toHaveProperty('deprecated');
  const source = sdkSource(openApi);
  expect(source).toContain('projects. @deprecated It will be removed after 2026-07-01. Use the SDK. */\nlist(');
  expect(source.match(/@deprecated/g)).toHaveLength(1);
});

test('a field that is deprecated in the GraphQL schema is marked in the OpenAPI document', () => {
  const future = buildSchema(`
    type Query { a: String }
    input Input { old: String @deprecated(reason: "Use \`new\`. It will be removed after 2026-07-01.") new: String }`);
  const { properties } = inputObjectSchema(future.getType('Input') as GraphQLInputObjectType, {}) as {
    properties: Record<string, object>;
  };
  expect(properties.old).toMatchObject({ deprecated: true, 'x-sunset': '2026-07-01' });
  expect(properties.new).not.toHaveProperty('deprecated');
});

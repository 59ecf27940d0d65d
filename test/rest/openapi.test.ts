import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { CONNECTOR_TYPES } from '../../src/connectors/definition.ts';
import { ERRORS } from '../../src/errors.ts';
import { EVENT_KINDS, EVENT_TYPE_FILTERS } from '../../src/events/kinds.ts';
import { schema } from '../../src/graphql/schema.ts';
import { createOpenApi } from '../../src/rest/openapi.ts';
import { ROUTES } from '../../src/rest/routes.ts';
import { VERSION } from '../../src/version.ts';
import { GOOD } from '../support/resources.ts';

type Json = Record<string, unknown>;
type Parameter = { name: string; in: string; required?: boolean };
type Operation = {
  operationId: string;
  parameters: Parameter[];
  requestBody?: { required: boolean; content: { 'application/json': { schema: Json } } };
  responses: Record<string, { description: string; content?: Record<string, { schema: Json }> }>;
};

const document = createOpenApi(schema) as Json & {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Json> };
};
const operations = ROUTES.map((route) => {
  const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
  return { route, operation: document.paths[path]![route.method.toLowerCase()]! };
});

function* nodesOf(value: unknown): Generator<Json> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value as Json;
  for (const item of Object.values(value)) yield* nodesOf(item);
}

test('the OpenAPI document describes every route once and nothing else', () => {
  const described = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
  );
  expect(described.sort()).toEqual(ROUTES.map(({ method, path }) => `${method} ${path}`).sort());
  const names = operations.map(({ operation }) => operation.operationId);
  expect(new Set(names).size).toBe(names.length);
});

test('every reference resolves', () => {
  for (const { $ref } of nodesOf(document)) {
    if ($ref === undefined) continue;
    const name = /^#\/components\/schemas\/(\w+)$/.exec(String($ref))?.[1];
    expect(document.components.schemas, String($ref)).toHaveProperty(name!);
  }
});

test('every schema is valid', () => {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, formats: { 'date-time': true, uri: true } });
  for (const [name, item] of Object.entries(document.components.schemas)) {
    ajv.addSchema(item, `#/components/schemas/${name}`);
  }
  for (const { operation } of operations) {
    const bodies = [operation.requestBody, ...Object.values(operation.responses)];
    for (const body of bodies) {
      for (const { schema: item } of Object.values(body?.content ?? {})) {
        expect(() => ajv.compile(item), `${operation.operationId}: ${JSON.stringify(item)}`).not.toThrow();
      }
    }
  }
});

test('every path parameter is declared as required', () => {
  for (const { route, operation } of operations) {
    const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
    expect(inPath.map(({ name }) => name)).toEqual([...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name));
    expect(inPath.every(({ required }) => required)).toBe(true);
  }
});

test('every error that the routes can return is described with its status', () => {
  const problem = document.components.schemas.Problem as { properties: { code: { enum: string[] } } };
  expect(problem.properties.code.enum).toEqual(Object.keys(ERRORS));
  for (const { operation } of operations) {
    const statuses = Object.keys(operation.responses).map(Number);
    expect(statuses).toEqual(expect.arrayContaining([400, 401, 403, 422, 429, 500, 503]));
    for (const [status, { description, content }] of Object.entries(operation.responses)) {
      expect(description).not.toBe('');
      if (Number(status) >= 400) expect(Object.keys(content!)).toEqual(['application/problem+json']);
    }
  }
});

test('errors of paid endpoints and of GraphQL documents are not described', () => {
  for (const { operation } of operations) {
    for (const { description } of Object.values(operation.responses)) {
      expect(description).not.toMatch(/PAYMENT_|UPSTREAM_|FACILITATOR_|GRAPHQL_/);
    }
  }
});

test('the OpenAPI document has the version of the service', () => {
  expect(document.info).toMatchObject({ version: VERSION });
});

test('the request schemas accept valid bodies and reject invalid ones', () => {
  const ajv = new Ajv2020({ strict: false });
  for (const [name, item] of Object.entries(document.components.schemas)) {
    ajv.addSchema(item, `#/components/schemas/${name}`);
  }
  const bodies: Record<string, object> = {
    ...{ createProject: GOOD.project, createEndpoint: GOOD.endpoint, createApiKey: GOOD.key },
    ...{ createConnector: GOOD.connector, createWebhook: GOOD.webhook },
  };
  for (const { operation } of operations) {
    const body = bodies[operation.operationId];
    if (!body) continue;
    const validate = ajv.compile(operation.requestBody!.content['application/json'].schema);
    expect(validate(body), operation.operationId).toBe(true);
    expect(validate({ ...body, surplus: 1 })).toBe(false);
    for (const field of Object.keys(body)) expect(validate({ ...body, [field]: undefined }), field).toBe(false);
  }
});

test('event types and connector types are spelled as documented', () => {
  const valuesOf = (name: string) => (document.components.schemas[name]!.enum as string[]).toSorted();
  expect(valuesOf('EventTypeFilter')).toEqual(EVENT_TYPE_FILTERS.toSorted());
  expect(valuesOf('EventType')).toEqual(EVENT_KINDS.toSorted());
  expect(valuesOf('ConnectorType')).toEqual(CONNECTOR_TYPES.toSorted());
});

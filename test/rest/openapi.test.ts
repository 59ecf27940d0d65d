import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { CONNECTOR_TYPES } from '../../src/connectors/definition.ts';
import { ERRORS } from '../../src/errors.ts';
import { EVENT_TYPE_FILTERS, EVENT_TYPES } from '../../src/events/types.ts';
import { schema } from '../../src/graphql/schema.ts';
import { createOpenApi } from '../../src/rest/openapi.ts';
import { ROUTES } from '../../src/rest/routes.ts';
import { VERSION } from '../../src/version.ts';
import { withResponses } from '../support/openapi.ts';
import { GOOD } from '../support/resources.ts';

type Json = Record<string, unknown>;
type Parameter = { name: string; in: string; required?: boolean };
type Content = { schema: Json; example?: unknown; examples?: Record<string, { value: unknown }> };
type Operation = {
  operationId: string;
  parameters: Parameter[];
  requestBody?: { required: boolean; content: { 'application/json': { schema: Json; example?: unknown } } };
  responses: Record<string, { description: string; content?: Record<string, Content> }>;
};

const document = withResponses(createOpenApi(schema)) as Json & {
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

test('the OpenAPI document describes exactly the routes, each once', () => {
  const described = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
  );
  expect(described.sort()).toEqual(ROUTES.map(({ method, path }) => `${method} ${path}`).sort());
  const names = operations.map(({ operation }) => operation.operationId);
  expect(new Set(names).size).toBe(names.length);
});

test('every schema is valid', () => {
  const ajv = new Ajv2020({
    strict: true,
    allowUnionTypes: true,
    formats: { 'date-time': true, uri: true, 'uri-reference': true, email: true },
    keywords: ['discriminator'],
  });
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

test('every object in a request or a response has a name, so that generated clients have a type for it', () => {
  const inline = operations.flatMap(({ operation }) => {
    const bodies = [operation.requestBody, ...Object.values(operation.responses)];
    const schemas = bodies.flatMap((body) => Object.values(body?.content ?? {}).map((content) => content.schema));
    return schemas.filter(({ $ref }) => !$ref).map((item) => [operation.operationId, item]);
  });
  expect(inline).toEqual([]);
  for (const [name, item] of Object.entries(document.components.schemas)) {
    for (const property of Object.values((item.properties ?? {}) as Json)) {
      // Related objects in event payloads are part of the payload.
      if (!name.endsWith('Data'))
        for (const node of nodesOf(property)) expect(node, name).not.toHaveProperty('properties');
    }
  }
});

test('every success response has a valid example, and every error has one for each code', () => {
  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true, uri: true, 'uri-reference': true } });
  for (const [name, item] of Object.entries(document.components.schemas)) {
    ajv.addSchema(item, `#/components/schemas/${name}`);
  }
  for (const { operation } of operations) {
    for (const [status, { description, content = {} }] of Object.entries(operation.responses)) {
      for (const { schema: item, example, examples = {} } of Object.values(content)) {
        const validate = ajv.compile(item);
        const label = `${operation.operationId} ${status}`;
        const values = status < '400' ? [example] : Object.values(examples).map(({ value }) => value);
        for (const value of values) expect(validate(value), `${label}: ${ajv.errorsText(validate.errors)}`).toBe(true);
        if (status >= '400') {
          const codes = [...description.matchAll(/^`(\w+)`/gm)].map(([, code]) => code);
          expect(Object.keys(examples)).toEqual(codes);
        }
      }
    }
  }
});

test('every event type is described as a webhook, with a valid example', () => {
  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true, 'uri-reference': true } });
  for (const [name, item] of Object.entries(document.components.schemas)) {
    ajv.addSchema(item, `#/components/schemas/${name}`);
  }
  const webhooks = document.webhooks as Record<string, { post: Operation }>;
  expect(Object.keys(webhooks)).toEqual(EVENT_TYPES);
  for (const [kind, { post }] of Object.entries(webhooks)) {
    const { schema: item, example } = post.requestBody!.content['application/json'];
    expect(example).toMatchObject({ type: kind });
    expect(ajv.validate(item, example), ajv.errorsText()).toBe(true);
    expect(ajv.validate(item, { ...(example as Json), type: 'other' })).toBe(false);
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

test('errors from paid endpoints and GraphQL documents are not described', () => {
  for (const { operation } of operations) {
    for (const { description } of Object.values(operation.responses)) {
      expect(description).not.toMatch(/PAYMENT_|UPSTREAM_|FACILITATOR_|GRAPHQL_/);
    }
  }
});

test('the OpenAPI document has the same version as the service', () => {
  expect(document.info).toMatchObject({ version: VERSION });
});

test('the request schemas accept valid bodies and reject invalid ones', () => {
  const ajv = new Ajv2020({ strict: false });
  for (const [name, item] of Object.entries(document.components.schemas)) {
    ajv.addSchema(item, `#/components/schemas/${name}`);
  }
  const bodies: Record<string, object> = {
    createProject: GOOD.project,
    createEndpoint: GOOD.endpoint,
    createApiKey: GOOD.key,
    createConnector: GOOD.connector,
    createWebhook: GOOD.webhook,
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
  expect(valuesOf('EventType')).toEqual(EVENT_TYPES.toSorted());
  expect(valuesOf('ConnectorType')).toEqual(CONNECTOR_TYPES.toSorted());
});

import {
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isInputObjectType,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from 'graphql';
import { VERSION } from '../version.ts';
import { BODY_EXAMPLES } from './body-examples.ts';
import { operationOf, rootType, typeAt } from './document-types.ts';
import { bareSchema, header, type Json, PROBLEM, problem, typeSchema, wrapLike } from './openapi-schemas.ts';
import type { RestRoute } from './routes/route.ts';
import { ROUTES } from './routes.ts';
import { TAG_DESCRIPTIONS, tagOf } from './tags.ts';

/** Error statuses, and the routes that can return them. */
const PROBLEMS: readonly { status: number; when(route: RestRoute): boolean }[] = [
  { status: 400, when: () => true },
  { status: 401, when: () => true },
  { status: 403, when: () => true },
  { status: 404, when: ({ path }) => path.includes(':') },
  { status: 409, when: ({ method }) => method !== 'GET' },
  { status: 413, when: ({ method }) => method !== 'GET' },
  { status: 415, when: ({ method }) => method !== 'GET' },
  { status: 422, when: () => true },
  { status: 429, when: () => true },
  { status: 500, when: () => true },
  { status: 503, when: () => true },
];

/** The REST API's OpenAPI 3.1 document, generated from the route table and its GraphQL types. */
export function createOpenApi(schema: GraphQLSchema): Json {
  const schemas: Json = { Problem: PROBLEM };
  const paths: Record<string, Json> = {};
  for (const route of ROUTES) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operation(schema, route, schemas);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tollgate',
      version: VERSION,
      description:
        'Manage a payment gateway in front of paid HTTP APIs: projects, endpoints, API keys, webhooks, and connectors.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }],
    tags: [...new Set(ROUTES.map(tagOf))].map((name) => ({ name, description: TAG_DESCRIPTIONS[name] })),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key (`tg_live_…`, `tg_test_…`) or a JWT.' },
      },
      schemas,
    },
  };
}

function operation(schema: GraphQLSchema, route: RestRoute, schemas: Json): Json {
  const success = { one: '200', list: '200', all: '200', create: '201', update: '200', delete: '204', action: '200' }[
    route.kind
  ];
  return {
    operationId: route.operationId,
    summary: route.summary,
    tags: [tagOf(route)],
    parameters: parameters(schema, route, schemas),
    ...(route.method !== 'GET' && route.method !== 'DELETE' && { requestBody: requestBody(schema, route, schemas) }),
    responses: {
      [success]:
        route.kind === 'delete'
          ? { description: 'Success.' }
          : {
              description: 'The result.',
              headers: answerHeaders(route),
              content: { 'application/json': { schema: answerSchema(schema, route, schemas) } },
            },
      ...Object.fromEntries(
        PROBLEMS.filter(({ when }) => when(route)).map(({ status }) => [String(status), problem(status)]),
      ),
    },
  };
}

function answerHeaders({ kind, method }: RestRoute): Json {
  return {
    ...(kind === 'create' && { Location: header('Path of the new resource.', { required: true }) }),
    ...(kind === 'list' && { Link: header('Path of the next page as `rel="next"`, if there is one.') }),
    ...(method === 'POST' && {
      'Idempotency-Replayed': header('`true` if this is the stored response to an earlier request.'),
    }),
  };
}

function parameters(schema: GraphQLSchema, route: RestRoute, schemas: Json): Json[] {
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const paging = [
    {
      name: 'limit',
      in: 'query',
      description: 'Page size. Default: 20.',
      schema: { type: 'integer', minimum: 1, maximum: 100 },
    },
    { name: 'after', in: 'query', description: '`nextCursor` of the previous page.', schema: { type: 'string' } },
  ];
  const filters = Object.entries(route.query ?? {}).map(([name, { to, description }]) => ({
    name,
    in: 'query',
    description,
    schema: bareSchema(getNullableType(typeAt(schema, route.document, to)), schemas),
    explode: true,
  }));
  const idempotency = {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'Makes retries safe: the response is stored for 24 hours, and a retry with the same key returns it.',
    schema: { type: 'string', maxLength: 255 },
  };
  return [
    ...inPath,
    ...(route.kind === 'list' ? paging : []),
    ...filters,
    ...(route.method === 'POST' ? [idempotency] : []),
  ];
}

function requestBody(schema: GraphQLSchema, route: RestRoute, schemas: Json): Json {
  const type = getNamedType(typeAt(schema, route.document, ['input']));
  const hidden = new Set(Object.values(route.fromPath ?? {}));
  if (!isInputObjectType(type)) throw new Error(`${route.operationId}: the input is not an object`);
  const fields = Object.values(type.getFields()).filter(({ name }) => !hidden.has(name));
  const required = fields.filter((field) => isNonNullType(field.type)).map(({ name }) => name);
  return {
    required: required.length > 0,
    content: {
      'application/json': {
        schema: {
          type: 'object',
          additionalProperties: false,
          ...(required.length > 0 && { required }),
          properties: Object.fromEntries(
            fields.map((field) => [field.name, { ...typeSchema(field.type, schemas), description: field.description }]),
          ),
        },
        example: BODY_EXAMPLES[route.operationId],
      },
    },
  };
}

/** The schema for the route's part of the result, with the fields that its document selects. */
function answerSchema(schema: GraphQLSchema, route: RestRoute, schemas: Json): Json {
  let type = rootType(schema, route.document) as GraphQLOutputType;
  let selection = operationOf(route.document).selectionSet;
  let payload = type;
  for (const [index, name] of route.at.entries()) {
    const field = (getNamedType(type) as GraphQLObjectType).getFields()[name]!;
    selection = select(route, selection, name);
    type = field.type;
    if (index === 0) payload = type;
  }
  if (route.kind === 'list') {
    const item = (getNamedType(type) as GraphQLObjectType).getFields().nodes!.type;
    return listOf(selected(route, getNamedType(item), select(route, selection, 'nodes'), schemas));
  }
  if (route.kind === 'all') return listOf(selected(route, getNamedType(type), selection, schemas));
  const resource = selected(route, getNamedType(type), selection, schemas);
  if (!route.once) return resource;
  const fields = (getNamedType(payload) as GraphQLObjectType).getFields();
  const shown = Object.fromEntries(
    route.once.map((name) => [
      name,
      { ...typeSchema(fields[name]!.type, schemas), description: fields[name]!.description },
    ]),
  );
  return { allOf: [resource, { type: 'object', required: [...route.once], properties: shown }] };
}

function listOf(items: Json): Json {
  return {
    type: 'object',
    required: ['data', 'nextCursor'],
    properties: { data: { type: 'array', items }, nextCursor: { type: ['string', 'null'] } },
  };
}

function select(route: RestRoute, selection: SelectionSetNode, name: string): SelectionSetNode {
  for (const node of flatten(route, selection))
    if (node.name.value === name && node.selectionSet) return node.selectionSet;
  throw new Error(`${route.operationId}: the document does not select ${name}`);
}

/** A selection's fields, including those from fragments. */
function flatten(route: RestRoute, { selections }: SelectionSetNode) {
  return selections.flatMap((node): { name: { value: string }; selectionSet?: SelectionSetNode | undefined }[] => {
    if (node.kind === Kind.FIELD) return [node];
    if (node.kind === Kind.INLINE_FRAGMENT) return flatten(route, node.selectionSet);
    const fragment = route.document.definitions.find(
      (definition) => definition.kind === Kind.FRAGMENT_DEFINITION && definition.name.value === node.name.value,
    );
    return fragment && 'selectionSet' in fragment ? flatten(route, fragment.selectionSet) : [];
  });
}

function selected(route: RestRoute, type: GraphQLNamedType, selection: SelectionSetNode, schemas: Json): Json {
  if (!isObjectType(type)) return typeSchema(type as GraphQLOutputType, schemas);
  const fields = type.getFields();
  const nodes = flatten(route, selection);
  const properties = Object.fromEntries(
    nodes.map(({ name, selectionSet }) => {
      const field = fields[name.value]!;
      const value = selectionSet
        ? wrapLike(field.type, selected(route, getNamedType(field.type), selectionSet, schemas))
        : typeSchema(field.type, schemas);
      return [name.value, { ...value, description: field.description }];
    }),
  );
  return { type: 'object', required: nodes.map(({ name }) => name.value), properties, description: type.description };
}

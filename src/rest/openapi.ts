import { type GraphQLSchema, getNamedType, getNullableType, isInputObjectType } from 'graphql';
import { IDEMPOTENCY_KEY } from '../http/run-once.ts';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from '../schema/cost.ts';
import { rulesOf } from '../schema/input-rules.ts';
import { VERSION } from '../version.ts';
import { BODY_EXAMPLES } from './body-examples.ts';
import { deprecatedOperation } from './deprecation.ts';
import { argumentOf, descriptionOf, typeAt } from './document-types.ts';
import { EXPORT_FORMATS, type Row } from './export/formats.ts';
import { changedConnectorBody, newConnectorBody } from './openapi-connectors.ts';
import { EVENT_SCHEMAS, eventWebhooks } from './openapi-events.ts';
import { exampleOf } from './openapi-examples.ts';
import { fieldRules, withLimits } from './openapi-limits.ts';
import { FIELD_ERROR, PROBLEM, PROBLEM_RESPONSES, problemsOf } from './openapi-problems.ts';
import { columnsOf, responseSchema } from './openapi-resources.ts';
import { addComponent, bareSchema, header, inputObjectSchema, type Json } from './openapi-schemas.ts';
import { VALUE_SCHEMAS } from './openapi-values.ts';
import { pathParameters } from './path-parameters.ts';
import { expansions, type QueryParameter, queryParameters, RESUME_PARAMETER } from './query-parameters.ts';
import { mayOmitBody, type RestRoute } from './routes/route.ts';
import { ROUTES } from './routes.ts';
import { TAG_DESCRIPTIONS, tagOf } from './tags.ts';

const EXPORT_SCHEMAS: Json = {
  ExportFormat: { type: 'string', description: 'The format of an export.', enum: Object.keys(EXPORT_FORMATS) },
  ExportedFile: { type: 'string', description: 'A file with a row for each item, oldest first.' },
};

/** The address of a server in development. */
const DEVELOPMENT_URL = 'http://127.0.0.1:4000';

/**
 * The REST API's OpenAPI 3.1 document, generated from the route table and its GraphQL types.
 *
 * @param serverUrl the server's absolute URL, without a path. Many client generators can't resolve a relative one.
 */
export function createOpenApi(
  schema: GraphQLSchema,
  routes: readonly RestRoute[] = ROUTES,
  serverUrl: string = DEVELOPMENT_URL,
): Json {
  const schemas: Json = {
    Problem: PROBLEM,
    FieldError: FIELD_ERROR,
    ...EVENT_SCHEMAS,
    ...EXPORT_SCHEMAS,
    ...VALUE_SCHEMAS,
  };
  const paths: Record<string, Json> = {};
  for (const route of routes) {
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
      contact: { name: 'The operator of this server' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: serverUrl }],
    security: [{ bearer: [] }],
    tags: [...new Set(routes.map(tagOf))].map((name) => ({ name, description: TAG_DESCRIPTIONS[name] })),
    paths,
    webhooks: eventWebhooks(),
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key (`tg_live_…`, `tg_test_…`) or a JWT.' },
      },
      responses: PROBLEM_RESPONSES,
      schemas,
    },
  };
}

function operation(schema: GraphQLSchema, route: RestRoute, schemas: Json): Json {
  const success = {
    one: '200',
    list: '200',
    all: '200',
    create: '201',
    update: '200',
    delete: '204',
    action: '200',
    export: '200',
  }[route.kind];
  return {
    operationId: route.operationId,
    summary: route.summary,
    description: route.description ?? descriptionOf(schema, route.document, route.at),
    ...(route.deprecated && deprecatedOperation(route.deprecated)),
    tags: [tagOf(route)],
    parameters: parameters(schema, route, schemas),
    ...(route.method !== 'GET' && route.method !== 'DELETE' && { requestBody: requestBody(schema, route, schemas) }),
    responses: {
      [success]:
        route.kind === 'delete'
          ? { description: 'Success.' }
          : {
              description: 'The result.',
              headers: responseHeaders(route),
              content:
                route.kind === 'export'
                  ? exportContent(schema, route, schemas)
                  : { 'application/json': successContent(schema, route, schemas) },
            },
      ...problemsOf(route),
    },
  };
}

function successContent(schema: GraphQLSchema, route: RestRoute, schemas: Json): Json {
  const result = responseSchema(schema, route, schemas);
  return { schema: result, example: exampleOf(result, schemas) };
}

/** OpenAPI 3.1 can't describe the lines of a file, so `x-line-schema` contains the schema for a line in JSON Lines. */
function exportContent(schema: GraphQLSchema, route: RestRoute, schemas: Json): Json {
  const line = responseSchema(schema, route, schemas);
  const example = exampleOf(line, schemas) as Row;
  const columns = columnsOf(schema, route);
  return Object.fromEntries(
    Object.values(EXPORT_FORMATS).map(({ mediaType, head, rows }) => [
      mediaType.split(';')[0]!,
      {
        schema: { $ref: '#/components/schemas/ExportedFile' },
        'x-line-schema': line,
        example: head(columns) + rows([example], columns),
      },
    ]),
  );
}

function responseHeaders({ kind, method, deprecated }: RestRoute): Json {
  return {
    ...(deprecated && {
      Deprecation: header('When the operation was deprecated, in Unix seconds after `@`.', { required: true }),
      Sunset: header('The time after which the operation may be removed.', { required: true }),
    }),
    ...(kind === 'create' && { Location: header('Path of the new resource.', { required: true }) }),
    ...(kind === 'export' && {
      'Content-Disposition': header('`attachment` with a file name.', { required: true }),
    }),
    ...(kind === 'list' && { Link: header('Path of the next page as `rel="next"`, if there is one.') }),
    ...(method === 'POST' && {
      'Idempotency-Replayed': header('`true` if this is the stored response to an earlier request.'),
    }),
  };
}

function parameters(schema: GraphQLSchema, route: RestRoute, schemas: Json): Json[] {
  const paging = [
    {
      name: 'limit',
      in: 'query',
      description: 'Page size. Default: 20.',
      schema: { type: 'integer', minimum: 1, maximum: MAX_PAGE_SIZE, default: DEFAULT_PAGE_SIZE },
    },
    { name: 'after', in: 'query', description: '`nextCursor` of the previous page.', schema: { type: 'string' } },
  ];
  const format = {
    name: 'format',
    in: 'query',
    description: 'The format of the file: CSV or JSON Lines. Default: csv.',
    schema: { $ref: '#/components/schemas/ExportFormat', default: 'csv' },
  };
  const resume = {
    name: RESUME_PARAMETER,
    in: 'query',
    description:
      'Continues an export that was cut off: only rows after the one with this ID, and no header in CSV. Send the ID of the last complete row, and the same filters.',
    schema: { type: 'string' },
  };
  const filters = queryParameters(schema, route).map((parameter) => ({
    name: parameter.name,
    in: 'query',
    ...(parameter.isRequired && { required: true }),
    description: parameter.description,
    schema: {
      ...withLimits(bareSchema(getNullableType(parameter.type), schemas), ruleOf(schema, route, parameter)),
      ...(parameter.defaultValue !== undefined && { default: parameter.defaultValue }),
    },
    explode: true,
  }));
  const expandable = [...expansions(route).keys()];
  const expand = {
    name: 'expand',
    in: 'query',
    description: 'Related resources to include in the response. Repeatable.',
    schema: { type: 'array', items: { type: 'string', enum: expandable } },
    explode: true,
  };
  const idempotency = {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'Makes retries safe: the response is stored for 24 hours, and a retry with the same key returns it.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: IDEMPOTENCY_KEY.source },
  };
  return [
    ...pathParameters(route),
    ...(route.kind === 'list' ? paging : []),
    ...(route.kind === 'export' ? [format] : []),
    ...(route.resume ? [resume] : []),
    ...filters,
    ...(expandable.length > 0 ? [expand] : []),
    ...(route.method === 'POST' ? [idempotency] : []),
  ];
}

/** The rule that checks a query parameter: a field of a filter, or an argument. */
function ruleOf(schema: GraphQLSchema, { document }: RestRoute, { to }: QueryParameter): Json | undefined {
  const name = to.at(-1)!;
  if (to.length > 1) {
    const filter = getNamedType(typeAt(schema, document, to.slice(0, -1)));
    return isInputObjectType(filter) ? fieldRules(rulesOf(filter))[name] : undefined;
  }
  const argument = argumentOf(schema, document, name);
  return argument && fieldRules(rulesOf(argument))[argument.name];
}

function requestBody(schema: GraphQLSchema, route: RestRoute, schemas: Json): Json {
  const type = getNamedType(typeAt(schema, route.document, ['input']));
  const hidden = new Set([...Object.values(route.fromPath ?? {}), ...(route.graphqlOnly ?? [])]);
  if (!isInputObjectType(type)) throw new Error(`${route.operationId}: the input is not an object`);
  const isChange = route.kind === 'update';
  const object = inputObjectSchema(type, schemas, { hidden, required: new Set(route.requires), isChange });
  const body = route.hasConnectorConfig
    ? (isChange ? changedConnectorBody : newConnectorBody)(object, type, schemas)
    : object;
  const name = route.operationId.charAt(0).toUpperCase() + route.operationId.slice(1);
  return {
    required: 'required' in object || route.needsOneOf === true || !mayOmitBody(route),
    content: {
      'application/json': {
        schema: addComponent(schemas, `${name}Request`, body),
        example: BODY_EXAMPLES[route.operationId],
      },
    },
  };
}

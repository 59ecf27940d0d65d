/** The parts of OpenAPI 3.1 that our own document uses (src/rest/openapi.ts). */
export type JsonSchema = {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  enum?: string[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  allOf?: JsonSchema[];
  anyOf?: JsonSchema[];
};

export type Parameter = {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema: JsonSchema;
};

export type OperationResponse = { description: string; content?: Record<string, { schema: JsonSchema }> };

export type Operation = {
  method: string;
  path: string;
  operationId: string;
  summary: string;
  tags: string[];
  parameters: Parameter[];
  requestBody?: { content: { 'application/json': { schema: JsonSchema; example?: object } } };
  responses: Record<string, OperationResponse>;
};

export type RestReference = {
  tags: { name: string; description?: string }[];
  operations: Operation[];
  schemas: Record<string, JsonSchema>;
};

type OpenApiDocument = {
  tags: RestReference['tags'];
  paths: Record<string, Record<string, Omit<Operation, 'method' | 'path'>>>;
  components: { schemas: Record<string, JsonSchema> };
};

export const OPENAPI_PATH = '/api/openapi.json';

let loaded: Promise<RestReference> | undefined;

/** The REST API's description, which is public. Loaded once; a failed load is retried. */
export function loadReference(): Promise<RestReference> {
  loaded ??= readReference().catch((failure: unknown) => {
    loaded = undefined;
    throw failure;
  });
  return loaded;
}

async function readReference(): Promise<RestReference> {
  const response = await fetch(OPENAPI_PATH);
  if (!response.ok) throw new Error(`The server returned ${response.status} for ${OPENAPI_PATH}.`);
  const { tags, paths, components } = (await response.json()) as OpenApiDocument;
  const operations = Object.entries(paths).flatMap(([path, byMethod]) =>
    Object.entries(byMethod).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
  );
  return { tags, operations, schemas: components.schemas };
}

/** Follows a schema's `$ref` and merges its `allOf`. Keywords next to a `$ref` take precedence. */
function resolveSchema({ $ref, ...own }: JsonSchema, schemas: RestReference['schemas']): JsonSchema {
  const target = $ref ? schemas[$ref.replace('#/components/schemas/', '')] : undefined;
  const schema = { ...target, ...own };
  if (!schema.allOf) return schema;
  const parts = schema.allOf.map((part) => resolveSchema(part, schemas));
  return {
    ...schema,
    type: 'object',
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
    required: parts.flatMap(({ required }) => required ?? []),
  };
}

/** A value's type in words: `string`, `array of string`, `string or null`. */
export function typeName(schema: JsonSchema, schemas: RestReference['schemas']): string {
  const { type, items, format, anyOf } = resolveSchema(schema, schemas);
  if (anyOf) return anyOf.map((choice) => typeName(choice, schemas)).join(' or ');
  if (type === undefined) return 'any JSON';
  const names = [type].flat().map((name) => {
    if (name === 'array' && items) return `array of ${typeName(items, schemas)}`;
    return name === 'string' && format ? format : name;
  });
  return names.join(' or ');
}

/** The object inside a value, even within arrays and alternatives. Undefined for scalars. */
export function innerObject(schema: JsonSchema, schemas: RestReference['schemas']): JsonSchema | undefined {
  const { properties, items, anyOf, ...rest } = resolveSchema(schema, schemas);
  if (properties) return { ...rest, properties };
  if (items) return innerObject(items, schemas);
  return anyOf?.map((choice) => innerObject(choice, schemas)).find(Boolean);
}

/** An enum's values. Empty for other fields. */
export function valuesOf(schema: JsonSchema, schemas: RestReference['schemas']): string[] {
  const { enum: values, items, anyOf } = resolveSchema(schema, schemas);
  if (values) return values;
  if (items) return valuesOf(items, schemas);
  return anyOf?.flatMap((choice) => valuesOf(choice, schemas)) ?? [];
}

/** A response's error codes and their meanings, as listed in its description (`problem` in src/rest). */
export function problemsOf({ description }: OperationResponse): { code: string; meaning: string }[] {
  return [...description.matchAll(/^`(\w+)`: (.+)$/gm)].map(([, code, meaning]) => ({
    code: code!,
    meaning: meaning!,
  }));
}

/** A request's path and query with the given values. Path parameters without a value keep their placeholder. */
export function requestPath({ path, parameters }: Operation, values: Readonly<Record<string, string>>): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) =>
    values[name] ? encodeURIComponent(values[name]) : placeholder,
  );
  const query = new URLSearchParams();
  for (const { name, in: place } of parameters) if (place === 'query' && values[name]) query.set(name, values[name]);
  return query.size > 0 ? `${filled}?${query}` : filled;
}

/** A curl command for the request. The token comes from the environment, which keeps it out of the shell history. */
export function curlCommand(operation: Operation, values: Readonly<Record<string, string>>, origin: string): string {
  const { method, requestBody } = operation;
  const example = requestBody?.content['application/json'].example;
  const body = example && JSON.stringify(example).replaceAll("'", String.raw`'\''`);
  const lines = [
    `curl -sS ${method === 'GET' ? '' : `-X ${method} `}'${origin}${requestPath(operation, values)}'`,
    `-H "Authorization: Bearer $TOLLGATE_TOKEN"`,
    ...(body ? [`-H 'Content-Type: application/json'`, `-d '${body}'`] : []),
  ];
  return lines.join(' \\\n  ');
}

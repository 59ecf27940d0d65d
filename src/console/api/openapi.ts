/** The parts of OpenAPI 3.1 that our own document uses (src/rest/openapi.ts). */
export type JsonSchema = {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  enum?: (string | null)[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  minProperties?: number;
  minimum?: number;
  maximum?: number;
  default?: unknown;
  discriminator?: { propertyName: string; mapping: Record<string, string> };
};

export type Parameter = {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema: JsonSchema;
};

export type OperationResponse = {
  description: string;
  content?: Record<string, { schema: JsonSchema; 'x-line-schema'?: JsonSchema }>;
};

export type Operation = {
  method: string;
  path: string;
  operationId: string;
  summary: string;
  tags: string[];
  parameters: Parameter[];
  requestBody?: { required?: boolean; content: { 'application/json': { schema: JsonSchema; example?: object } } };
  responses: Record<string, OperationResponse>;
};

export type RestReference = {
  tags: { name: string; description?: string }[];
  operations: Operation[];
  schemas: Record<string, JsonSchema>;
};

type Reference = { $ref: string };
export type OpenApiDocument = {
  tags: RestReference['tags'];
  paths: Record<string, Record<string, Omit<Operation, 'method' | 'path' | 'responses'> & Responses>>;
  components: { schemas: Record<string, JsonSchema>; responses: Record<string, OperationResponse> };
};
type Responses = { responses: Record<string, OperationResponse | Reference> };

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
  return toReference((await response.json()) as OpenApiDocument);
}

/** The operations in an OpenAPI document, with the responses that they refer to. */
export function toReference({ tags, paths, components }: OpenApiDocument): RestReference {
  const operations = Object.entries(paths).flatMap(([path, byMethod]) =>
    Object.entries(byMethod).map(([method, { responses, ...operation }]) => ({
      ...operation,
      path,
      method: method.toUpperCase(),
      responses: Object.fromEntries(
        Object.entries(responses).map(([status, found]) => [
          status,
          '$ref' in found ? components.responses[nameIn(found)]! : found,
        ]),
      ),
    })),
  );
  return { tags, operations, schemas: components.schemas };
}

const nameIn = ({ $ref }: Reference) => $ref.slice($ref.lastIndexOf('/') + 1);

/** Follows a schema's `$ref`. Keywords next to it take precedence. */
function resolveSchema({ $ref, ...own }: JsonSchema, schemas: RestReference['schemas']): JsonSchema {
  return $ref ? { ...schemas[nameIn({ $ref })], ...own } : own;
}

/** A value's type in words: `string`, `array of string`, `string or null`. */
export function typeName(schema: JsonSchema, schemas: RestReference['schemas']): string {
  const { type, items, format, anyOf, oneOf } = resolveSchema(schema, schemas);
  const choices = anyOf ?? oneOf;
  if (choices) return [...new Set(choices.map((choice) => typeName(choice, schemas)))].join(' or ');
  if (type === undefined) return 'any JSON';
  const names = [type].flat().map((name) => {
    if (name === 'array' && items) return `array of ${typeName(items, schemas)}`;
    return name === 'string' && format ? format : name;
  });
  return names.join(' or ');
}

/**
 * The object inside a value, even within arrays and alternatives. Undefined for scalars, and for objects that can have
 * completely different fields.
 */
export function innerObject(schema: JsonSchema, schemas: RestReference['schemas']): JsonSchema | undefined {
  const { properties, items, anyOf, oneOf, ...rest } = resolveSchema(schema, schemas);
  if (properties) return { ...rest, properties };
  if (items) return innerObject(items, schemas);
  const objects = (anyOf ?? oneOf ?? []).flatMap((choice) => innerObject(choice, schemas) ?? []);
  if (objects.length > 1) return oneOf ? mergedObject(objects) : undefined;
  return objects[0];
}

/** An object with the fields of several variants. A field that differs between them can have the values of each. */
function mergedObject(variants: readonly JsonSchema[]): JsonSchema {
  const [first] = variants;
  const fields = Object.entries(first!.properties!).map(([name, { description }]) => {
    const found = variants.map(({ properties }) => properties?.[name] ?? {});
    const isSame = found.every((one) => JSON.stringify(one) === JSON.stringify(found[0]));
    return [name, isSame ? found[0]! : { description, anyOf: found }] as const;
  });
  return { ...first!, properties: Object.fromEntries(fields) as Record<string, JsonSchema> };
}

/** An enum's values. Empty for other fields. */
export function valuesOf(schema: JsonSchema, schemas: RestReference['schemas']): string[] {
  const { enum: values, items, anyOf, oneOf } = resolveSchema(schema, schemas);
  if (values) return values.filter((value) => value !== null);
  if (items) return valuesOf(items, schemas);
  return (anyOf ?? oneOf)?.flatMap((choice) => valuesOf(choice, schemas)) ?? [];
}

/** A response's error codes and their meanings, as listed in its description (`problem` in src/rest). */
export function problemsOf({ description }: OperationResponse): { code: string; meaning: string }[] {
  return [...description.matchAll(/^`(\w+)`: (.+)$/gm)].map(([, code, meaning]) => ({
    code: code!,
    meaning: meaning!,
  }));
}

/** The values that the user has entered for an operation's parameters, by name. */
export type ParameterValues = Readonly<Record<string, string>>;

/** A request's path. Parameters without a value become placeholders: `WEBHOOK_ID`. */
export function filledPath({ path }: Operation, values: ParameterValues): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(valueOrPlaceholder(name, values)));
}

/** A path parameter's value, or a placeholder for it. */
export function valueOrPlaceholder(name: string, values: ParameterValues): string {
  return values[name] || name.replaceAll(/(?=[A-Z])/g, '_').toUpperCase();
}

/** The query parameters that have a value. Repeatable parameters take several values, separated by commas. */
export function queryOf(
  { parameters }: Operation,
  values: ParameterValues,
): { name: string; values: string[]; schema: JsonSchema }[] {
  return parameters
    .filter(({ name, in: place }) => place === 'query' && values[name])
    .map(({ name, schema }) => ({
      name,
      schema,
      values: schema.items ? values[name]!.split(/\s*,\s*/) : [values[name]!],
    }));
}

/** A request's path and query. */
export function requestPath(operation: Operation, values: ParameterValues): string {
  const query = queryOf(operation, values).flatMap(({ name, values: given }) => given.map((value) => [name, value]));
  const path = filledPath(operation, values);
  return query.length > 0 ? `${path}?${new URLSearchParams(query)}` : path;
}

/** Whether an operation responds with a file, which can be too large to show. */
export function isExport({ responses }: Operation): boolean {
  return responses['200']?.content?.['application/jsonl'] !== undefined;
}

/** The parts of OpenAPI 3.1 that the service's own document uses (src/rest/openapi.ts). */
export type Schema = {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  enum?: string[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  allOf?: Schema[];
  anyOf?: Schema[];
};

export type Parameter = {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema: Schema;
};

export type Answer = { description: string; content?: Record<string, { schema: Schema }> };

export type Operation = {
  method: string;
  path: string;
  operationId: string;
  summary: string;
  tags: string[];
  parameters: Parameter[];
  requestBody?: { content: { 'application/json': { schema: Schema; example?: object } } };
  responses: Record<string, Answer>;
};

export type Reference = {
  tags: { name: string; description?: string }[];
  operations: Operation[];
  schemas: Record<string, Schema>;
};

type Document = {
  tags: Reference['tags'];
  paths: Record<string, Record<string, Omit<Operation, 'method' | 'path'>>>;
  components: { schemas: Record<string, Schema> };
};

export const OPENAPI_PATH = '/api/openapi.json';

let loaded: Promise<Reference> | undefined;

/** The description of the REST interface, which needs no credential. It is read once, unless that fails. */
export function loadReference(): Promise<Reference> {
  loaded ??= readReference().catch((failure: unknown) => {
    loaded = undefined;
    throw failure;
  });
  return loaded;
}

async function readReference(): Promise<Reference> {
  const answer = await fetch(OPENAPI_PATH);
  if (!answer.ok) throw new Error(`The server answered ${answer.status} when asked for ${OPENAPI_PATH}.`);
  const { tags, paths, components } = (await answer.json()) as Document;
  const operations = Object.entries(paths).flatMap(([path, byMethod]) =>
    Object.entries(byMethod).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
  );
  return { tags, operations, schemas: components.schemas };
}

/** A schema with its reference followed and the parts of an `allOf` joined; what stands beside a reference goes first. */
export function resolveSchema({ $ref, ...own }: Schema, schemas: Reference['schemas']): Schema {
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

/** The type of a value in words: `string`, `array of string`, `string or null`. */
export function typeName(schema: Schema, schemas: Reference['schemas']): string {
  const { type, items, format, anyOf } = resolveSchema(schema, schemas);
  if (anyOf) return anyOf.map((choice) => typeName(choice, schemas)).join(' or ');
  if (type === undefined) return 'any JSON';
  const names = [type].flat().map((name) => {
    if (name === 'array' && items) return `array of ${typeName(items, schemas)}`;
    return name === 'string' && format ? format : name;
  });
  return names.join(' or ');
}

/** The object that a value is or holds, whose fields are shown below it; undefined for plain values. */
export function innerObject(schema: Schema, schemas: Reference['schemas']): Schema | undefined {
  const { properties, items, anyOf, ...rest } = resolveSchema(schema, schemas);
  if (properties) return { ...rest, properties };
  if (items) return innerObject(items, schemas);
  return anyOf?.map((choice) => innerObject(choice, schemas)).find(Boolean);
}

/** The values that a field can have, where they are listed. */
export function valuesOf(schema: Schema, schemas: Reference['schemas']): string[] {
  const { enum: values, items, anyOf } = resolveSchema(schema, schemas);
  if (values) return values;
  if (items) return valuesOf(items, schemas);
  return anyOf?.flatMap((choice) => valuesOf(choice, schemas)) ?? [];
}

/** The problem codes of an answer with what each means; its description lists them (`problem` of src/rest). */
export function problemsOf({ description }: Answer): { code: string; meaning: string }[] {
  return [...description.matchAll(/^`(\w+)`: (.+)$/gm)].map(([, code, meaning]) => ({
    code: code!,
    meaning: meaning!,
  }));
}

/** The path of a request, with what is filled in. An empty value of the path stays its placeholder. */
export function requestPath({ path, parameters }: Operation, values: Readonly<Record<string, string>>): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) =>
    values[name] ? encodeURIComponent(values[name]) : placeholder,
  );
  const query = new URLSearchParams();
  for (const { name, in: place } of parameters) if (place === 'query' && values[name]) query.set(name, values[name]);
  return query.size > 0 ? `${filled}?${query}` : filled;
}

/** A command that makes the request; the token is taken from the environment, so that it is in no history. */
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

import type { PaidRoute } from '../routing/load-routes.ts';
import type { Details } from './details.ts';
import { sampleOf } from './sample.ts';
import { TOOL_CALL_SCHEMA } from './tool-call.ts';

type Json = Record<string, unknown>;

/** How to call an endpoint, in the formats of x402 version 2 (an extension) and version 1 (part of the terms). */
export type Declaration = {
  /** https://github.com/x402-foundation/x402/blob/main/specs/extensions/bazaar.md */
  bazaar: { info: Json; schema: Json; routeTemplate?: string };
  /**
   * The shape that version 1 catalogs and clients expect, because the middleware in the `x402` packages produces it. As
   * JSON: as objects, copies of a schema's fields can take a thousand times as much memory.
   */
  outputSchema: string;
  /** The size of the larger format as JSON. */
  bytes: number;
  /** The size of the extension as JSON, without the path's placeholders. */
  bazaarBytes: number;
};

/** From the complete declaration to the smallest: without the example, and then also without the schemas. */
export type Declarations = readonly [Declaration, ...Declaration[]];

/** What is requested: the method, and the path's canonical segments. `base` is the base URL for endpoint paths. */
export type Called = { method: string; base: string; segments: readonly string[] };

const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);
const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
/** Catalogs ignore templates with other characters. */
const TEMPLATE = /^\/[a-zA-Z0-9_/:.\-~%]+$/;
/** The header of a 402 response has room for little more. */
const MAX_ABOUT_CHARACTERS = 100;
const ANYTHING: Json = {};
const ANY_OBJECT: Json = { type: 'object' };

/**
 * Declarations by what they depend on besides the schemas and the example. They are discarded together with these, which
 * can take a lot of memory. All endpoints that have neither share theirs.
 */
const declared = new WeakMap<Details, Map<string, Declarations>>();

/**
 * Describes how to call an endpoint with a method.
 *
 * @param onDeclared called with the size of the declarations as JSON if they are kept from now on.
 */
export function declarationsOf(
  route: PaidRoute,
  details: Details,
  called: Called,
  onDeclared: (bytes: number) => void = () => {},
): Declarations {
  const ofDetails = declared.get(details) ?? new Map<string, Declarations>();
  declared.set(details, ofDetails);
  const { method } = called;
  const type = isJson(route.offer.mimeType) ? 'json' : 'text';
  const key = `${method} ${route.protocol} ${type}`;
  const declarations = ofDetails.get(key) ?? declare(details, { method, type, protocol: route.protocol });
  if (!ofDetails.has(key)) {
    ofDetails.set(key, declarations);
    onDeclared(declarations.reduce((sum, { bytes, bazaarBytes }) => sum + bytes + bazaarBytes, 0));
  }
  return hasPlaceholders(route)
    ? (declarations.map((each) => at(route, each, details, called)) as unknown as Declarations)
    : declarations;
}

/** The most complete declaration up to a size. The smallest one always fits. */
export function fittingDeclaration(declarations: Declarations, maxBytes: number): Declaration {
  return declarations.find(({ bytes }) => bytes <= maxBytes) ?? declarations.at(-1)!;
}

type Facts = Pick<PaidRoute, 'protocol'> & { method: string; type: 'json' | 'text' };

function declare(details: Details, facts: Facts): Declarations {
  const variants = [details];
  if (details.exampleResponse !== null) variants.push({ ...details, exampleResponse: null });
  if (details.inputSchema !== null) variants.push({ inputSchema: null, exampleResponse: null });
  return variants.map((variant) => declaration(variant, facts)) as unknown as Declarations;
}

function declaration(details: Details, { protocol, method, type }: Facts): Declaration {
  const { query, headers, body = protocol === 'MCP' ? TOOL_CALL_SCHEMA : undefined } = details.inputSchema ?? {};
  const hasBody = WITH_BODY.has(method);
  const inputs = [
    ...(hasBody ? [] : [inputOf('queryParams', query ?? ANY_OBJECT)]),
    ...(hasBody && query ? [inputOf('queryParams', query)] : []),
    ...(headers ? [inputOf('headers', headers)] : []),
    ...(hasBody ? [inputOf('body', body ?? ANY_OBJECT)] : []),
  ];
  const bodyType = hasBody ? { bodyType: 'json' } : {};
  const example = details.exampleResponse;
  const info = {
    input: { type: 'http', method, ...bodyType, ...samplesOf(inputs) },
    ...(example !== null && { output: { type, example } }),
  };
  const schema = {
    $schema: DIALECT,
    type: 'object',
    properties: {
      input: {
        type: 'object',
        properties: {
          type: { type: 'string', const: 'http' },
          method: { type: 'string', enum: [method] },
          ...(hasBody && { bodyType: { type: 'string', enum: ['json'] } }),
          ...Object.fromEntries(inputs.map(({ name, schema: described }) => [name, described])),
        },
        required: ['type', 'method', ...(hasBody ? ['bodyType'] : []), ...requiredIn(inputs)],
        additionalProperties: false,
      },
      output: {
        type: 'object',
        properties: { type: { type: 'string' }, example: example === null ? ANYTHING : { type: jsonTypeOf(example) } },
        required: ['type'],
      },
    },
    required: ['input'],
  };
  const bazaar = { info, schema };
  const bazaarBytes = bytesOf(bazaar);
  const outputSchema = outputSchemaOf(
    { type: 'http', method, discoverable: true, ...bodyType },
    { queryParams: query, headerFields: headers, bodyFields: hasBody ? body : undefined },
    example === null ? ANYTHING : { type: jsonTypeOf(example), example },
  );
  return { bazaar, outputSchema, bytes: Math.max(bazaarBytes, Buffer.byteLength(outputSchema)), bazaarBytes };
}

type Input = { name: 'queryParams' | 'headers' | 'body'; schema: Json; sample: unknown };

const inputOf = (name: Input['name'], schema: Json): Input => ({ name, schema, sample: sampleOf(schema) });

/** Includes only inputs with samples, because catalogs drop a declaration whose samples don't match its schemas. */
function samplesOf(inputs: readonly Input[]): Json {
  return Object.fromEntries(
    inputs.filter(({ sample }) => sample !== undefined).map(({ name, sample }) => [name, sample]),
  );
}

function requiredIn(inputs: readonly Input[]): string[] {
  return inputs.filter(({ name, sample }) => name === 'body' && sample !== undefined).map(({ name }) => name);
}

function outputSchemaOf(input: Json, parts: Record<string, Json | undefined>, output: Json): string {
  const fields = Object.entries(parts).map(([name, part]) => part && `,"${name}":${fieldsOf(part)}`);
  return `{"input":${JSON.stringify(input).slice(0, -1)}${fields.join('')}},"output":${JSON.stringify(output)}}`;
}

/** The fields of an object, as version 1 describes them. */
function fieldsOf({ properties, required }: Json): string {
  const names = new Set(Array.isArray(required) ? required : []);
  const entries = Object.entries((properties ?? {}) as Record<string, unknown>).map(([name, schema]) => {
    const field = typeof schema === 'object' && schema !== null && !Array.isArray(schema) ? schema : ANYTHING;
    return `${JSON.stringify(name)}:${names.has(name) ? requiredField(field) : JSON.stringify(field)}`;
  });
  return `{${entries.join()}}`;
}

/** Sets the field's `required`. In the schema of an object, it has the names of the object's own fields. */
function requiredField(field: object): string {
  const text = JSON.stringify(field, function (this: unknown, name, value) {
    return this === field && name === 'required' ? true : value;
  });
  if ('required' in field) return text;
  return `${text.slice(0, -1)}${text === '{}' ? '' : ','}"required":true}`;
}

const hasPlaceholders = ({ pattern }: PaidRoute) => pattern.some(isPlaceholder);
const isPlaceholder = (segment: string) => segment.startsWith(':') || segment === '*';

/** Adds the values of the path's placeholders, and the template that catalogs list instead of each address. */
function at(
  { pattern }: PaidRoute,
  { bazaar, ...rest }: Declaration,
  { inputSchema }: Details,
  { base, segments }: Called,
): Declaration {
  const named = pattern.map((segment) => (segment === '*' ? ':rest' : segment));
  const values = pattern.flatMap((segment, index) => {
    if (segment === '*') return [['rest', segments.slice(index).join('/')]];
    return segment.startsWith(':') ? [[segment.slice(1), segments[index]!]] : [];
  });
  const template = `${new URL(base).pathname.replace(/\/$/, '')}/${named.join('/')}`;
  const { input } = bazaar.info as { input: Json };
  const properties = bazaar.schema.properties as { input: { properties: Json } };
  const pathParams = {
    type: 'object',
    properties: Object.fromEntries(
      values.map(([name]) => [name, { type: 'string', ...aboutOf(inputSchema?.path, name!) }]),
    ),
  };
  const described = { ...properties.input, properties: { ...properties.input.properties, pathParams } };
  return {
    ...rest,
    bazaar: {
      info: { ...bazaar.info, input: { ...input, pathParams: Object.fromEntries(values) } },
      schema: { ...bazaar.schema, properties: { ...properties, input: described } },
      ...(TEMPLATE.test(template) && { routeTemplate: template }),
    },
  };
}

/**
 * What a schema says about a placeholder. Its rules are left out: they may be for a number, and nothing keeps a buyer from
 * requesting another value, but catalogs drop a declaration whose values don't match.
 */
function aboutOf(path: Json | undefined, name: string): Json {
  const properties = (path?.properties ?? {}) as Record<string, unknown>;
  const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
  const { description } = (typeof schema === 'object' ? schema : {}) as Json;
  return typeof description === 'string' ? { description: description.slice(0, MAX_ABOUT_CHARACTERS) } : {};
}

function isJson(mimeType: string | null): boolean {
  return mimeType === null || /^[^;]*[/+]json\s*(?:;|$)/i.test(mimeType);
}

function jsonTypeOf(value: unknown): string {
  return Array.isArray(value) ? 'array' : typeof value;
}

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

import { type ApiOperation, type Json, LIMITS, type Problem } from './document.ts';
import { placeholderName } from './paths.ts';
import type { Resolve } from './references.ts';
import { exampleOf, schemaOf } from './schemas.ts';
import { type Budget, copyJson, isObject, keysOf, listOf, own, proseOf, quoted, spendSteps, textOf } from './values.ts';

/** The parts of the document, outside an operation, that are needed to read it. */
export type Reading = {
  resolve: Resolve;
  budget: Budget;
  isSwagger: boolean;
  /** The media types of responses for operations that don't list their own (Swagger 2.0). */
  produces: unknown;
};

/** Headers that are forwarded anyway, and those that come from the API's own authentication. */
const USUAL_HEADERS = new Set(['accept', 'accept-language', 'authorization', 'content-type', 'idempotency-key']);
const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/i;
/** The schema keywords of a parameter in Swagger 2.0, where a parameter doesn't have its own schema. */
const PARAMETER_KEYWORDS = [
  ...['type', 'format', 'items', 'enum', 'default', 'pattern', 'minimum', 'maximum'],
  ...['exclusiveMinimum', 'exclusiveMaximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'uniqueItems'],
];

const STEPS_PER_PARAMETER = 20;

type Fields = Pick<ApiOperation, 'description' | 'tags' | 'mimeType' | 'inputSchema' | 'exampleResponse' | 'problems'>;
type Parameter = { name: string; place: string; isRequired: boolean; schema: unknown };

/** Reads one operation. Problems with the document itself are added to `problems`. */
export function readOperation(
  value: unknown,
  shared: { parameters: unknown; pointer: string; method: string },
  reading: Reading,
  problems: Problem[],
): Fields {
  const notes: string[] = [];
  const { method, pointer } = shared;
  const note = (message: string) => notes.push(`${method}: ${message}`);
  if (own(value, 'deprecated') === true) note('marked as deprecated.');
  if (listOf(own(value, 'servers')).length > 0) note('has its own server, which is ignored.');
  const parameters = readParameters([shared.parameters, own(value, 'parameters')], reading, (message) =>
    problems.push({ pointer, message }),
  );
  const headers = parameters.filter(({ place, isRequired, name }) => {
    return place === 'header' && isRequired && !USUAL_HEADERS.has(name.toLowerCase());
  });
  if (headers.length > 0) {
    const names = headers.slice(0, 5).map(({ name }) => quoted(name));
    note(`requires ${names.join(', ')}. Add these header names to \`forwardedHeaders\`.`);
  }
  const input = {
    query: querySchema(parameters, reading),
    path: pathSchema(parameters, reading),
    headers: headersSchema(parameters, reading),
    body: bodySchema(value, parameters, reading),
  };
  if (Object.values(input).includes(TOO_LARGE)) note('its input schema is too large or can’t be read.');
  const inputSchema = Object.fromEntries(Object.entries(input).filter(([, schema]) => isObject(schema))) as NonNullable<
    Fields['inputSchema']
  >;
  const response = readResponse(value, reading);
  return {
    description: proseOf(own(value, 'summary') ?? own(value, 'description'), LIMITS.descriptionLength),
    tags: tagsOf(own(value, 'tags')),
    ...response,
    inputSchema: Object.keys(inputSchema).length > 0 ? inputSchema : null,
    problems: notes,
  };
}

function tagsOf(value: unknown): string[] {
  const names = listOf(value)
    .slice(0, LIMITS.tags)
    .map((tag) => proseOf(tag, LIMITS.titleLength)?.replaceAll(/\s+/g, ' ').slice(0, LIMITS.tagLength).trim())
    .filter((tag) => tag !== undefined && /^[\x20-\x7e]+$/.test(tag)) as string[];
  return [...new Set(names)];
}

/**
 * A path's parameters and an operation's. An operation's parameter replaces a path's parameter with the same name and
 * location.
 */
function readParameters(lists: unknown[], reading: Reading, report: (message: string) => void): Parameter[] {
  const byPlace = new Map<string, Parameter>();
  for (const given of lists.flatMap((list) => listOf(list).slice(0, LIMITS.parameters))) {
    spendSteps(reading.budget, STEPS_PER_PARAMETER);
    const found = reading.resolve(given);
    if (!found.ok) {
      report(found.message);
      continue;
    }
    const { value } = found;
    const name = textOf(own(value, 'name'));
    const place = textOf(own(value, 'in'));
    if (name === undefined || place === undefined || name.length > 200 || place.length > 20) continue;
    const isRequired = own(value, 'required') === true;
    byPlace.set(`${place} ${name}`, { name, place, isRequired, schema: parameterSchema(value, place, reading) });
  }
  return [...byPlace.values()];
}

function parameterSchema(value: unknown, place: string, { isSwagger, budget }: Reading): unknown {
  if (!isSwagger) return own(value, 'schema') ?? own(firstMedia(own(value, 'content'), budget)?.media, 'schema') ?? {};
  if (place === 'body') return own(value, 'schema');
  const keywords = PARAMETER_KEYWORDS.filter((keyword) => own(value, keyword) !== undefined);
  return Object.fromEntries(keywords.map((keyword) => [keyword, own(value, keyword)]));
}

const TOO_LARGE = Symbol('too large');
type Schema = Json | undefined | typeof TOO_LARGE;

function querySchema(parameters: readonly Parameter[], reading: Reading): Schema {
  return fieldsSchema(
    parameters.filter(({ place }) => place === 'query'),
    reading,
  );
}

/** The schemas of the path's parameters. Undefined if they only say that each is a string. */
function pathSchema(parameters: readonly Parameter[], reading: Reading): Schema {
  const inPath = parameters.filter(({ place }) => place === 'path');
  const isTelling = ({ schema }: Parameter) =>
    isObject(schema) && keysOf(schema, reading.budget).some((name) => name !== 'type' || schema.type !== 'string');
  if (!inPath.some(isTelling)) return undefined;
  return fieldsSchema(
    inPath.map((parameter) => ({ ...parameter, name: placeholderName(parameter.name) })),
    reading,
  );
}

/** Without the headers that every API has. */
function headersSchema(parameters: readonly Parameter[], reading: Reading): Schema {
  return fieldsSchema(
    parameters.filter(({ place, name }) => place === 'header' && !USUAL_HEADERS.has(name.toLowerCase())),
    reading,
  );
}

function bodySchema(operation: unknown, parameters: readonly Parameter[], reading: Reading): Schema {
  if (reading.isSwagger) {
    const body = parameters.find(({ place }) => place === 'body');
    if (body) return wholeSchema(body.schema, reading);
    return fieldsSchema(
      parameters.filter(({ place }) => place === 'formData'),
      reading,
    );
  }
  const body = reading.resolve(own(operation, 'requestBody'));
  const schema = body.ok ? own(firstMedia(own(body.value, 'content'), reading.budget)?.media, 'schema') : undefined;
  return wholeSchema(schema, reading);
}

/** The schema of an object with these parameters as its fields. */
function fieldsSchema(parameters: readonly Parameter[], reading: Reading): Schema {
  if (parameters.length === 0) return undefined;
  const required = parameters.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  return wholeSchema(
    {
      type: 'object',
      properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
      ...(required.length > 0 && { required }),
    },
    reading,
  );
}

function wholeSchema(schema: unknown, { resolve, budget }: Reading): Schema {
  if (schema === undefined) return undefined;
  return schemaOf(schema, resolve, budget) ?? TOO_LARGE;
}

/** The media type to describe. */
function firstMedia(content: unknown, budget: Budget): { type: string; media: unknown } | undefined {
  if (!isObject(content)) return undefined;
  const types = keysOf(content, budget);
  const type = usualType(types);
  return type === undefined ? undefined : { type, media: content[type] };
}

/** JSON itself if possible, then a type based on JSON, then the first type. */
function usualType(types: readonly string[]): string | undefined {
  return (
    types.find((type) => /^application\/json\b/i.test(type)) ??
    types.find((type) => /^[^;]{0,100}\+json\b/i.test(type)) ??
    types[0]
  );
}

/** The successful response with the lowest status. */
function readResponse(operation: unknown, reading: Reading): Pick<ApiOperation, 'mimeType' | 'exampleResponse'> {
  const responses = own(operation, 'responses');
  const statuses = isObject(responses)
    ? keysOf(responses, reading.budget).filter((status) => /^2(?:\d\d|XX)$/i.test(status))
    : [];
  const found = reading.resolve(own(responses, statuses.sort()[0] ?? 'default'));
  const response = found.ok ? found.value : undefined;
  if (reading.isSwagger) {
    const types = listOf(own(operation, 'produces') ?? reading.produces);
    spendSteps(reading.budget, types.length);
    const mimeType = usualType(types.filter((type) => typeof type === 'string'));
    const example = mimeType && own(own(response, 'examples'), mimeType);
    const copied = example === undefined ? schemaExample(response, reading) : copyJson(example, reading.budget);
    return { mimeType: mediaTypeOf(mimeType), exampleResponse: copied ?? null };
  }
  const content = firstMedia(own(response, 'content'), reading.budget);
  const example = content && exampleOf(content.media, reading.resolve, reading.budget);
  return { mimeType: mediaTypeOf(content?.type), exampleResponse: example ?? null };
}

function schemaExample(response: unknown, { resolve, budget }: Reading): Json | undefined {
  return exampleOf({ schema: own(response, 'schema') }, resolve, budget);
}

function mediaTypeOf(text: string | undefined): string | null {
  const [type = ''] = (text ?? '').slice(0, 200).toLowerCase().split(';', 1);
  const trimmed = type.trim();
  return trimmed.length <= 100 && MEDIA_TYPE.test(trimmed) ? trimmed : null;
}

import { BODY_EXAMPLES } from '../../src/rest/body-examples.ts';
import { exampleOf, sampleOf } from './limit-samples.ts';

type Json = { [key: string]: unknown };
type Operation = {
  operationId: string;
  parameters: { name: string; in: string; schema: Json }[];
  requestBody?: { content: { 'application/json': { schema: Json } } };
};
export type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Json> };
};

export type Sent = { body?: unknown; query?: string };

/** A limit of a field, with a request that has a value at the limit and one that has a value beyond it. */
export type Case = {
  name: string;
  keyword: string;
  method: string;
  path: string;
  pointer: string;
  atLimit: Sent;
  beyond: Sent;
};

/** A field in a request: its schema, and how to send a value in it. */
type Field = Pick<Case, 'method' | 'path' | 'pointer'> & { name: string; schema: Json; send(value: unknown): Sent };

const KEYWORDS = ['minLength', 'maxLength', 'pattern', 'format', 'minItems', 'maxItems', 'minimum', 'maximum'];

/** Lists all limits in a document, and the fields that have none. */
export function casesOf({ paths, components: { schemas } }: Document): { cases: Case[]; unlimited: Case[] } {
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const fields = operations.flatMap(({ path, method, operation }) => [
    ...operation.parameters
      .filter((parameter) => parameter.in === 'query')
      .map(
        ({ name, schema }): Field => ({
          name: `${operation.operationId} ?${name}`,
          method,
          path,
          pointer: `/${name}`,
          schema,
          send: (value) => ({ query: `?${encodeURIComponent(name)}=${encodeURIComponent(String(value))}` }),
        }),
      ),
    ...bodyFields(path, method, operation),
  ]);
  return {
    cases: fields.flatMap((field) =>
      KEYWORDS.filter((keyword) => keyword in field.schema).flatMap((keyword) => caseOf(field, keyword) ?? []),
    ),
    unlimited: fields.flatMap((field) => unlimitedCase(field) ?? []),
  };

  function bodyFields(path: string, method: string, { operationId, requestBody }: Operation): Field[] {
    if (!requestBody) return [];
    const base = (BODY_EXAMPLES[operationId] ?? {}) as Json;
    const whole = resolve(requestBody.content['application/json'].schema);
    const variants = (whole.oneOf as Json[] | undefined)?.map(resolve) ?? [whole];
    return variants.flatMap((variant) =>
      fieldsOf(variant, '', { ...base, ...constants(variant) }, (body) => ({ body })).map((field) => ({
        ...field,
        method,
        path,
        name: `${operationId}${variants.length > 1 ? ` (${constants(variant).type})` : ''} ${field.pointer}`,
      })),
    );
  }

  /** An object's fields, and those of the objects in them. `send` puts the object into a body. */
  function fieldsOf(
    object: Json,
    at: string,
    base: Json,
    send: (object: Json) => Sent,
  ): Pick<Field, 'pointer' | 'schema' | 'send'>[] {
    return Object.entries((object.properties ?? {}) as Record<string, Json>).flatMap(([name, property]) => {
      const pointer = `${at}/${name}`;
      const put = (value: unknown) => send({ ...base, ...companions(pointer), [name]: value });
      const schema = resolve(property);
      const items = schema.items ? resolve(schema.items as Json) : undefined;
      const inItem = (item: unknown) => put([item]);
      return [
        { pointer, schema, send: put },
        ...(items && !items.properties ? [{ pointer: `${pointer}/0`, schema: items, send: inItem }] : []),
        ...(items?.properties ? fieldsOf(items, `${pointer}/0`, sampleOf(items, 0, schemas) as Json, inItem) : []),
        ...(isPlainObject(name, schema)
          ? fieldsOf(schema, pointer, nestedBase(pointer, base[name], schema), (inner) => put(inner))
          : []),
      ];
    });
  }

  function nestedBase(pointer: string, given: unknown, schema: Json): Json {
    if (pointer === '/config') return {};
    return (given ?? sampleOf(schema, 0, schemas) ?? {}) as Json;
  }

  /** Filters on events have their own tests. */
  function isPlainObject(name: string, { properties }: Json): boolean {
    return properties !== undefined && name !== 'filter' && name !== 'inputSchema';
  }

  /** The schema that a reference or a nullable choice stands for. */
  function resolve(schema: Json): Json {
    if (typeof schema.$ref === 'string') return { ...schemas[schema.$ref.split('/').at(-1)!]!, ...without(schema) };
    const [only, ...others] = ((schema.anyOf ?? []) as Json[]).filter(({ type }) => type !== 'null');
    return only && others.length === 0 ? { ...resolve(only), ...without(schema) } : schema;
  }

  function caseOf(field: Field, keyword: string): Case | undefined {
    const { schema, send, ...about } = field;
    const limit = schema[keyword] as number;
    const values = {
      minLength: () => [limit, limit - 1].map((length) => sampleOf(schema, length, schemas, field.pointer)),
      maxLength: () => [limit, limit + 1].map((length) => sampleOf(schema, length, schemas, field.pointer)),
      pattern: () => [exampleOf(field.name) ?? sampleOf(schema, undefined, schemas), unmatched(schema)],
      format: () => (schema.format === 'email' ? ['a@example.com', 'a@b@c'] : ['2026-01-02T03:04:05Z', 'yesterday']),
      minItems: () => [listOf(schema, limit), listOf(schema, limit - 1)],
      maxItems: () => [listOf(schema, limit), listOf(schema, limit + 1)],
      minimum: () => [limit, limit - (schema.type === 'number' ? 0.01 : 1)],
      maximum: () => [limit, limit + 1],
    }[keyword]!();
    const [atLimit, beyond] = values;
    return { ...about, name: `${field.name} ${keyword}`, keyword, atLimit: send(atLimit), beyond: send(beyond) };
  }

  function listOf(schema: Json, length: number): unknown[] {
    const items = resolve(schema.items as Json);
    return Array.from({ length }, (_, index) => {
      const sample = sampleOf(items, undefined, schemas);
      const isHeader = typeof sample === 'object' && sample !== null && 'name' in sample;
      return isHeader ? { ...sample, name: `x-${index}` } : sample;
    });
  }

  function unlimitedCase(field: Field): Case | undefined {
    const { schema, send, ...about } = field;
    const types = [schema.type].flat();
    if (KEYWORDS.some((keyword) => keyword in schema) || schema.enum || NAMED.test(field.pointer)) return undefined;
    const isText = types.includes('string');
    if (!isText && !types.includes('integer') && !types.includes('number')) return undefined;
    const beyond = send(isText ? `${'é '.repeat(2_000)}x` : 1_000_000_007);
    return { ...about, name: field.name, keyword: 'none', atLimit: beyond, beyond };
  }
}

/** The defaults of fields of new resources, each with a body that has only the required fields. */
export function defaultsOf({ paths, components: { schemas } }: Document) {
  return Object.entries(paths).flatMap(([path, { post }]) => {
    const { $ref = '' } = (post?.requestBody?.content['application/json'].schema ?? {}) as { $ref?: string };
    if (!post || !/^create(?!Replay|Connector)/.test(post.operationId)) return [];
    const { properties, required } = schemas[$ref.split('/').at(-1)!] as {
      properties: Record<string, Json>;
      required: string[];
    };
    const example = Object.entries(BODY_EXAMPLES[post.operationId]!);
    const body = Object.fromEntries(example.filter(([name]) => required.includes(name)));
    return Object.entries(properties)
      .filter(([, property]) => 'default' in property)
      .map(([field, property], index) => ({
        operationId: post.operationId,
        path,
        field,
        value: property.default,
        // An endpoint's path must be unique.
        body: 'path' in body ? { ...body, path: `/default-${index}`, upstreamUrl: 'https://a.example/' } : body,
      }));
  });
}

/**
 * Fields with the ID of a resource, which has to exist, and fields with a format that no keyword describes: mailboxes and
 * documents.
 */
const NAMED = /Ids?(?:\/0)?$|^\/ids\/0$|^\/config\/(?:from|to\/0)$|^\/document$/;

const without = ({ $ref: _ref, anyOf: _anyOf, ...own }: Json): Json => own;

/** The values of fields that can have only one. */
function constants({ properties }: Json): Json {
  const fixed = Object.entries(properties as Record<string, Json>).filter(
    ([, property]) => (property.enum as unknown[] | undefined)?.length === 1,
  );
  return Object.fromEntries(fixed.map(([name, property]) => [name, (property.enum as unknown[])[0]]));
}

/** Other fields that a field needs in order to be checked. */
function companions(pointer: string): Json {
  const [, parent, name = ''] = pointer.split('/');
  if (parent === 'authentication' && name !== '') return AUTHENTICATION[name] ?? {};
  return { '/url': { document: undefined }, '/latest': { eventId: undefined } }[pointer] ?? {};
}

const BASIC = { type: 'BASIC', username: 'a', password: 'b' };
const OAUTH2 = { type: 'OAUTH2_CLIENT_CREDENTIALS', tokenUrl: 'https://a.example/', clientId: 'a', clientSecret: 'b' };
const AUTHENTICATION: Readonly<Record<string, Json>> = {
  username: BASIC,
  password: BASIC,
  token: { type: 'BEARER' },
  tokenUrl: OAUTH2,
  clientId: OAUTH2,
  clientSecret: OAUTH2,
  scope: OAUTH2,
};

/** Text that doesn't match a pattern. */
function unmatched({ pattern, maxLength = Number.POSITIVE_INFINITY }: Json): string {
  const candidates = ['a\u0001b', '\u0001', 'é', ' ', 'a:b', 'a', '', 'a b'];
  const found = candidates.find(
    (text) => text.length <= (maxLength as number) && !new RegExp(pattern as string, 'u').test(text),
  );
  if (found === undefined) throw new Error(`No text that does not match ${pattern}`);
  return found;
}

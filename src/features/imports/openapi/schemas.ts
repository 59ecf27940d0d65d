import type { Json, JsonObject } from './document.ts';
import type { Resolve } from './references.ts';
import { type Budget, copyJson, isObject, keysOf, listOf, own } from './values.ts';

/** OpenAPI keywords that aren't part of JSON Schema. */
const OPENAPI_ONLY = new Set(['nullable', 'discriminator', 'xml', 'externalDocs', 'example', 'readOnly', 'writeOnly']);

/** Keywords with a schema for each name. */
const MAPS = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'];

/** Exclusive bounds, which are flags in JSON Schema draft 4 and numbers in later versions. */
const BOUNDS = [
  { flag: 'exclusiveMinimum', bound: 'minimum' },
  { flag: 'exclusiveMaximum', bound: 'maximum' },
] as const;

/**
 * A schema as JSON Schema without references. A circular reference becomes a schema that matches anything.
 *
 * @returns undefined if it is too large or refers to something that can't be found.
 */
export function schemaOf(value: unknown, resolve: Resolve, budget: Budget): Json | undefined {
  let isBroken = false;
  // Objects whose fields are names that the API's author chose, not keywords.
  const maps = new WeakSet<JsonObject>();
  const copied = copyJson(value, budget, (object, above) => {
    if (maps.has(object)) return object;
    const found = resolve(object);
    if (!found.ok || !isObject(found.value)) {
      isBroken = true;
      return {};
    }
    const schema = asJsonSchema(found.value);
    for (const keyword of MAPS) {
      const map = own(schema, keyword);
      if (isObject(map)) maps.add(map);
    }
    return above.includes(schema) ? {} : schema;
  });
  return isBroken || copied === null ? undefined : copied;
}

/** The converted form of each schema, so that a schema that contains itself is recognized. */
const converted = new WeakMap<JsonObject, JsonObject>();

function asJsonSchema(schema: JsonObject): JsonObject {
  const names = Object.keys(schema);
  if (!names.some((name) => OPENAPI_ONLY.has(name) || name.startsWith('x-') || typeof schema[name] === 'boolean')) {
    return schema;
  }
  const known = converted.get(schema);
  if (known) return known;
  const kept = names.filter((name) => !OPENAPI_ONLY.has(name) && !name.startsWith('x-'));
  const copy: Record<string, unknown> = Object.fromEntries(kept.map((name) => [name, schema[name]]));
  if (schema.nullable === true && typeof schema.type === 'string') copy.type = [schema.type, 'null'];
  for (const { flag, bound } of BOUNDS) {
    if (typeof schema[flag] !== 'boolean') continue;
    delete copy[flag];
    if (schema[flag] && typeof schema[bound] === 'number') {
      copy[flag] = schema[bound];
      delete copy[bound];
    }
  }
  converted.set(schema, copy);
  return copy;
}

/** The example of a media type (OpenAPI 3), from the first of several places that has one, or undefined. */
export function exampleOf(media: unknown, resolve: Resolve, budget: Budget): Json | undefined {
  const examples = own(media, 'examples');
  const first = isObject(examples) ? resolve(own(examples, keysOf(examples, budget)[0] ?? '')) : undefined;
  const schema = resolve(own(media, 'schema'));
  const candidates = [
    own(media, 'example'),
    first?.ok ? own(first.value, 'value') : undefined,
    schema.ok ? own(schema.value, 'example') : undefined,
    schema.ok ? listOf(own(schema.value, 'examples'))[0] : undefined,
  ];
  const example = candidates.find((candidate) => candidate !== undefined);
  return example === undefined ? undefined : copyJson(example, budget);
}

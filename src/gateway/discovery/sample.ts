type Schema = Record<string, unknown>;

const SHOWN = ['const', 'default', 'example'] as const;
/** Keywords that can make an invented value invalid. */
const LIMITS: Readonly<Record<string, readonly string[]>> = {
  string: ['pattern', 'format', 'minLength', 'maxLength'],
  number: ['exclusiveMinimum', 'exclusiveMaximum', 'maximum', 'multipleOf'],
  array: ['minItems', 'contains', 'minContains'],
  object: ['minProperties', 'dependentRequired', 'dependentSchemas', 'propertyNames', 'patternProperties'],
  any: ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependencies'],
};

/**
 * A value that a schema describes: the seller's example, or a simple value that meets the schema.
 *
 * @returns undefined if it isn't obvious which value meets the schema
 */
export function sampleOf(schema: unknown): unknown {
  if (schema === true) return {};
  if (typeof schema !== 'object' || schema === null) return undefined;
  const known = schema as Schema;
  if (Array.isArray(known.examples) && known.examples.length > 0) return known.examples[0];
  const shown = SHOWN.find((name) => known[name] !== undefined);
  if (shown) return known[shown];
  if (Array.isArray(known.enum)) return known.enum[0];
  return LIMITS.any!.some((name) => name in known) ? undefined : simplest(known);
}

function simplest(schema: Schema): unknown {
  const type = schema.type === 'integer' ? 'number' : schema.type;
  if (typeof type !== 'string' || LIMITS[type]?.some((name) => name in schema)) return undefined;
  if (type === 'object') return withRequired(schema);
  if (type === 'number') return numberFrom(schema);
  return { string: 'string', boolean: false, array: [], null: null }[type];
}

function numberFrom({ type, minimum }: Schema): number {
  const least = typeof minimum === 'number' ? Math.max(minimum, 0) : 0;
  return type === 'integer' ? Math.ceil(least) : least;
}

function withRequired({ required, properties }: Schema): object | undefined {
  const names = (required ?? []) as string[];
  const schemas = (properties ?? {}) as Schema;
  const entries = names.map(
    (name) => [name, Object.hasOwn(schemas, name) ? sampleOf(schemas[name]) : undefined] as const,
  );
  return entries.some(([, value]) => value === undefined) ? undefined : objectOf(entries);
}

/** V8 makes room for a thousand values in an object with a name such as `999`, but not if it reads the names from JSON. */
function objectOf(entries: readonly (readonly [string, unknown])[]): object {
  const object = JSON.parse(`{${entries.map(([name]) => `${JSON.stringify(name)}:null`).join()}}`);
  for (const [name, value] of entries) object[name] = value;
  return object;
}

import { EXAMPLE_ID, EXAMPLE_TIME, FIELD_EXAMPLES } from './field-examples.ts';
import type { Json } from './openapi-schemas.ts';

/**
 * A valid and realistic value for a schema.
 *
 * @throws Error if a field has no example, so that new fields get one.
 */
export function exampleOf(schema: Json, schemas: Json, place = ''): unknown {
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.split('/').at(-1)!;
    return exampleOf(schemas[name] as Json, schemas, name);
  }
  if (schema.properties) return objectExample(schema, schemas, place);
  if (schema.enum) return (schema.enum as unknown[])[0];
  if (schema.type === 'array') return [exampleOf(schema.items as Json, schemas, place)];
  if (isNullable(schema)) return null;
  if (schema.format === 'date-time') return EXAMPLE_TIME;
  const prefix = /`([a-z]+_)…`/.exec(String(schema.description))?.[1];
  if (prefix) return prefix + EXAMPLE_ID;
  throw new Error(`No example for ${place}`);
}

/** An object without the fields that only some responses have. */
function objectExample({ properties, required }: Json, schemas: Json, component: string): Json {
  const fields = Object.entries(properties as Record<string, Json>);
  return Object.fromEntries(
    fields.flatMap(([name, schema]) => {
      if (required && !(required as string[]).includes(name)) return [];
      const known = [`${component}.${name}`, name].find((place) => place in FIELD_EXAMPLES);
      return [[name, known ? FIELD_EXAMPLES[known] : exampleOf(schema, schemas, `${component}.${name}`)]];
    }),
  );
}

function isNullable({ type, anyOf }: Json): boolean {
  const types = [type, ...((anyOf as Json[] | undefined) ?? []).map((part) => part.type)].flat();
  return types.includes('null');
}

import type { Api } from './client.ts';
import { runDocument } from './run-document.ts';

/** The parts of an introspected schema that the console shows (GraphQL, October 2021, §4). */
export type TypeRef = { kind: string; name: string | null; ofType?: TypeRef | null };
export type InputValue = { name: string; description: string | null; type: TypeRef; defaultValue: string | null };
type Field = { name: string; description: string | null; args: InputValue[]; type: TypeRef };
export type SchemaType = {
  kind: 'OBJECT' | 'INTERFACE' | 'UNION' | 'ENUM' | 'INPUT_OBJECT' | 'SCALAR';
  name: string;
  description: string | null;
  fields: Field[] | null;
  inputFields: InputValue[] | null;
  enumValues: { name: string; description: string | null }[] | null;
  possibleTypes: TypeRef[] | null;
};
export type GraphqlSchema = ReadonlyMap<string, SchemaType>;

/** A search result: a type, or one of its fields or values. */
export type SchemaPlace = { typeName: string; member?: string; description: string | null };

const TYPE_REF = 'kind name ofType { kind name ofType { kind name ofType { kind name } } }';
const INPUT_VALUE = `name description defaultValue type { ${TYPE_REF} }`;
const INTROSPECTION = `query Introspection {
  __schema {
    types {
      kind name description
      fields { name description type { ${TYPE_REF} } args { ${INPUT_VALUE} } }
      inputFields { ${INPUT_VALUE} }
      enumValues { name description }
      possibleTypes { kind name }
    }
  }
}`;

let loaded: Promise<GraphqlSchema> | undefined;

/** The GraphQL API's schema, by type name. Loaded once; a failed load is retried. */
export function loadSchema(api: Api): Promise<GraphqlSchema> {
  loaded ??= readSchema(api).catch((failure: unknown) => {
    loaded = undefined;
    throw failure;
  });
  return loaded;
}

async function readSchema(api: Api): Promise<GraphqlSchema> {
  const { data } = (await runDocument(api, { query: INTROSPECTION })) as {
    data?: { __schema: { types: SchemaType[] } };
  };
  if (!data) throw new Error('The server didn’t return its schema.');
  const own = data.__schema.types.filter(({ name }) => !name.startsWith('__'));
  return new Map(own.sort((one, other) => one.name.localeCompare(other.name)).map((type) => [type.name, type]));
}

/** A type as written in SDL: `[Delivery!]!`. */
export function typeText({ kind, name, ofType }: TypeRef): string {
  if (kind === 'NON_NULL') return `${typeText(ofType!)}!`;
  if (kind === 'LIST') return `[${typeText(ofType!)}]`;
  return name ?? '';
}

/** A type's name without its list and non-null wrappers. */
export function namedType({ name, ofType }: TypeRef): string {
  return ofType ? namedType(ofType) : (name ?? '');
}

/** Matches by name come first, then matches by description. Every word must match. */
export function searchSchema(schema: GraphqlSchema, words: readonly string[]): SchemaPlace[] {
  const places = [...schema.values()].flatMap((type): SchemaPlace[] => [
    { typeName: type.name, description: type.description },
    ...[...(type.fields ?? []), ...(type.inputFields ?? []), ...(type.enumValues ?? [])].map(
      ({ name, description }) => ({ typeName: type.name, member: name, description }),
    ),
  ]);
  const hasAll = (text: string) => words.every((word) => text.toLowerCase().includes(word));
  const byName = places.filter((place) => hasAll(placeName(place)));
  const known = new Set(byName);
  const byDescription = places.filter(
    (place) => !known.has(place) && hasAll(`${placeName(place)} ${place.description}`),
  );
  return [...byName, ...byDescription];
}

export function placeName({ typeName, member }: SchemaPlace): string {
  return member === undefined ? typeName : `${typeName}.${member}`;
}

import type { Api } from './client.ts';
import { runDocument } from './run-document.ts';

/** The parts of an introspected schema that are shown (GraphQL, October 2021, §4). */
export type TypeRef = { kind: string; name: string | null; ofType?: TypeRef | null };
export type InputValue = { name: string; description: string | null; type: TypeRef; defaultValue: string | null };
export type Field = { name: string; description: string | null; args: InputValue[]; type: TypeRef };
export type SchemaType = {
  kind: 'OBJECT' | 'INTERFACE' | 'UNION' | 'ENUM' | 'INPUT_OBJECT' | 'SCALAR';
  name: string;
  description: string | null;
  fields: Field[] | null;
  inputFields: InputValue[] | null;
  enumValues: { name: string; description: string | null }[] | null;
  possibleTypes: TypeRef[] | null;
};
export type Schema = ReadonlyMap<string, SchemaType>;

/** A place in the schema that a search found: a type, or a field, argument or value of it. */
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

let loaded: Promise<Schema> | undefined;

/** The schema of the GraphQL API by the names of its types. It is read once, unless that fails. */
export function loadSchema(api: Api): Promise<Schema> {
  loaded ??= readSchema(api).catch((failure: unknown) => {
    loaded = undefined;
    throw failure;
  });
  return loaded;
}

async function readSchema(api: Api): Promise<Schema> {
  const { data } = (await runDocument(api, { query: INTROSPECTION })) as {
    data?: { __schema: { types: SchemaType[] } };
  };
  if (!data) throw new Error('The server did not describe its schema.');
  const own = data.__schema.types.filter(({ name }) => !name.startsWith('__'));
  return new Map(own.sort((one, other) => one.name.localeCompare(other.name)).map((type) => [type.name, type]));
}

/** A type as it is written in the schema: `[Delivery!]!`. */
export function typeText({ kind, name, ofType }: TypeRef): string {
  if (kind === 'NON_NULL') return `${typeText(ofType!)}!`;
  if (kind === 'LIST') return `[${typeText(ofType!)}]`;
  return name ?? '';
}

/** The name of the type within lists and exclamation marks. */
export function namedType({ name, ofType }: TypeRef): string {
  return ofType ? namedType(ofType) : (name ?? '');
}

/** The places whose name has every word in it; those whose description has them come after. */
export function searchSchema(schema: Schema, words: readonly string[]): SchemaPlace[] {
  const places = [...schema.values()].flatMap((type): SchemaPlace[] => [
    { typeName: type.name, description: type.description },
    ...[...(type.fields ?? []), ...(type.inputFields ?? []), ...(type.enumValues ?? [])].map(
      ({ name, description }) => ({ typeName: type.name, member: name, description }),
    ),
  ]);
  const hasAll = (text: string) => words.every((word) => text.toLowerCase().includes(word));
  const byName = places.filter((place) => hasAll(placeName(place)));
  const known = new Set(byName);
  const byMeaning = places.filter((place) => !known.has(place) && hasAll(`${placeName(place)} ${place.description}`));
  return [...byName, ...byMeaning];
}

export function placeName({ typeName, member }: SchemaPlace): string {
  return member === undefined ? typeName : `${typeName}.${member}`;
}

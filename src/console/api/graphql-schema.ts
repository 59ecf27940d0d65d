import {
  buildClientSchema,
  type GraphQLNamedType,
  type GraphQLSchema,
  type IntrospectionQuery,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
} from 'graphql';
import { type Api, CONSOLE_READ } from './client.ts';
import { runDocument } from './run-document.ts';
import { SCHEMA_QUERY } from './schema-query.ts';

/** A search result: a type, or one of its fields or values. */
export type SchemaPlace = { typeName: string; member?: string; description: string };

let loaded: Promise<GraphQLSchema> | undefined;

/** The GraphQL API's schema. Loaded once; a failed load is retried. */
export function loadSchema(api: Api): Promise<GraphQLSchema> {
  loaded ??= readSchema(api).catch((failure: unknown) => {
    loaded = undefined;
    throw failure;
  });
  return loaded;
}

async function readSchema(api: Api): Promise<GraphQLSchema> {
  const { data } = (await runDocument(api, { query: SCHEMA_QUERY }, CONSOLE_READ)) as { data?: IntrospectionQuery };
  if (!data) throw new Error('The server didn’t return its schema.');
  return buildClientSchema(data);
}

/** A type's fields or values. Unions and scalars have none. */
export function membersOf(type: GraphQLNamedType) {
  if (isEnumType(type)) return type.getValues();
  const hasFields = isObjectType(type) || isInterfaceType(type) || isInputObjectType(type);
  return hasFields ? Object.values(type.getFields()) : [];
}

/** Matches by name come first, then matches by description. Every word must match. */
export function searchSchema(schema: GraphQLSchema, words: readonly string[]): SchemaPlace[] {
  const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'));
  const places = types
    .sort((one, other) => one.name.localeCompare(other.name))
    .flatMap((type): SchemaPlace[] => [
      { typeName: type.name, description: type.description ?? '' },
      ...membersOf(type).map(({ name, description }) => ({
        typeName: type.name,
        member: name,
        description: description ?? '',
      })),
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

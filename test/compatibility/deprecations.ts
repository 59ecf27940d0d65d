import { type Change, CriticalityLevel, diff } from '@graphql-inspector/core';
import { buildSchema, type GraphQLNamedType, type GraphQLSchema, isEnumType } from 'graphql';

/** The format of a deprecation reason in the GraphQL schema, which `docs/versioning.md` describes. */
const REASON = /^Use .+\. It will be removed after (\d{4}-\d{2}-\d{2})\.$/;

type Place = { deprecationReason?: string | null; args?: readonly ({ name: string } & Place)[] };

/**
 * The changes between two schemas that break clients. Anything that was deprecated in the older schema may be removed
 * after the date in its deprecation reason.
 *
 * @param today `YYYY-MM-DD`.
 */
export async function breakingInGraphql(before: string, after: string, today: string): Promise<string[]> {
  const [old, current] = [buildSchema(before), buildSchema(after)];
  const changes = await diff(old, current);
  return changes
    .filter(({ criticality }) => criticality.level === CriticalityLevel.Breaking)
    .filter((change) => !mayBeRemoved(old, change, today))
    .map(({ message }) => message);
}

function mayBeRemoved(schema: GraphQLSchema, { type, path }: Change, today: string): boolean {
  if (!type.endsWith('REMOVED') || !path) return false;
  const sunset = REASON.exec(reasonAt(schema, path.split('.')) ?? '')?.[1];
  return sunset !== undefined && sunset < today;
}

function reasonAt(schema: GraphQLSchema, [typeName, field, argument]: string[]): string | null | undefined {
  const type = schema.getType(typeName!);
  const place = type && field ? membersOf(type).get(field) : undefined;
  const found = argument ? place?.args?.find(({ name }) => name === argument) : place;
  return found?.deprecationReason;
}

function membersOf(type: GraphQLNamedType): Map<string, Place> {
  if (isEnumType(type)) return new Map(type.getValues().map((value) => [value.name, value]));
  return new Map('getFields' in type ? Object.entries(type.getFields() as Record<string, Place>) : []);
}

/** The deprecations in a schema that don't say what to use instead, or until when. */
export function unclearDeprecations(schema: GraphQLSchema): string[] {
  const places = Object.values(schema.getTypeMap())
    .filter(({ name }) => !name.startsWith('__'))
    .flatMap((type) => [...membersOf(type)].map(([name, place]) => [`${type.name}.${name}`, place] as const))
    .flatMap(([name, place]) => [
      [name, place] as const,
      ...(place.args ?? []).map((argument) => [`${name}.${argument.name}`, argument] as const),
    ]);
  return places
    .filter(([, { deprecationReason }]) => deprecationReason != null && !REASON.test(deprecationReason))
    .map(([name]) => name);
}

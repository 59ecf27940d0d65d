import { useQuery } from 'urql';
import { EnumValuesDocument } from '../../generated/console/enum-values.ts';

/** The values of an enum in the GraphQL schema, such as `EventType`. Empty until they are loaded. */
export function useEnumValues(name: string): string[] {
  const [{ data }] = useQuery({ query: EnumValuesDocument, variables: { name } });
  return data?.__type?.enumValues?.map((value) => value.name) ?? [];
}

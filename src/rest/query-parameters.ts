import {
  type DocumentNode,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isListType,
  isNonNullType,
  Kind,
} from 'graphql';
import { operationOf, typeAt } from './document-types.ts';
import type { RestRoute } from './routes/route.ts';

/** A query parameter that sets a variable of the route's document. */
export type QueryParameter = {
  name: string;
  /** Its place in the variables. */
  to: readonly string[];
  type: GraphQLInputType;
  isList: boolean;
  isRequired: boolean;
  description: string;
};

/** Filter fields that have a different name in REST, where the names of repeated parameters are singular. */
const SINGULAR: Readonly<Record<string, string>> = {
  ...{ eventTypes: 'eventType', actions: 'action', types: 'type', tiers: 'tier' },
};

/** The parameters for paging through a list. */
export const PAGE_PARAMETERS = ['limit', 'after'] as const;

/**
 * A route's query parameters, other than those for pages and `expand`: the fields of its document's `$filter`, and the
 * parameters that the route itself lists.
 */
export function queryParameters(schema: GraphQLSchema, route: RestRoute): QueryParameter[] {
  if (route.method !== 'GET') return [];
  const own = Object.entries(route.query ?? {}).map(([name, { to, description }]) =>
    parameter(name, to, typeAt(schema, route.document, to), description, isRequired(route.document, to[0]!)),
  );
  if (!variablesOf(route.document).includes('filter')) return own;
  const filter = getNamedType(typeAt(schema, route.document, ['filter']));
  if (!isInputObjectType(filter)) throw new Error(`${route.operationId}: the filter is not an object`);
  const fields = Object.values(filter.getFields()).map(({ name, type, description }) =>
    parameter(SINGULAR[name] ?? name, ['filter', name], type, description ?? ''),
  );
  return [...fields, ...own];
}

function parameter(
  name: string,
  to: readonly string[],
  type: GraphQLInputType,
  description: string,
  required = false,
): QueryParameter {
  const isList = isListType(isNonNullType(type) ? type.ofType : type);
  const text = isList ? `${description} Repeatable.` : description;
  return { name, to, type, isList, isRequired: required, description: text };
}

function isRequired(document: DocumentNode, name: string): boolean {
  const definition = operationOf(document).variableDefinitions?.find(({ variable }) => variable.name.value === name);
  return definition?.type.kind === Kind.NON_NULL_TYPE && definition.defaultValue === undefined;
}

const EXPAND = /^expand([A-Z]\w*)$/;

/**
 * What `expand` can add to a route's response, with the variable that includes it: the document selects `customer` with
 * `@include(if: $expandCustomer)`.
 */
export function expansions({ document }: Pick<RestRoute, 'document'>): ReadonlyMap<string, string> {
  return new Map(
    variablesOf(document).flatMap((variable) => {
      const [, name] = EXPAND.exec(variable) ?? [];
      return name ? [[name[0]!.toLowerCase() + name.slice(1), variable] as const] : [];
    }),
  );
}

function variablesOf(document: DocumentNode): string[] {
  return operationOf(document).variableDefinitions?.map(({ variable }) => variable.name.value) ?? [];
}

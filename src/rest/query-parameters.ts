import {
  type DocumentNode,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isListType,
  isNonNullType,
  Kind,
  type VariableDefinitionNode,
  valueFromAST,
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
  /** The value if the parameter is missing, as REST spells it. */
  defaultValue: unknown;
  description: string;
};

/** Filter fields that have a different name in REST, where the names of repeated parameters are singular. */
const SINGULAR: Readonly<Record<string, string>> = {
  eventTypes: 'eventType',
  actions: 'action',
  types: 'type',
  tiers: 'tier',
};

/** The parameters for paging through a list. */
export const PAGE_PARAMETERS = ['limit', 'after'] as const;

/** The parameter of exports that chooses the format. It isn't a variable of the document. */
export const FORMAT_PARAMETER = 'format';

/** The parameter of paged exports that continues one that was cut off. It isn't a variable of the document. */
export const RESUME_PARAMETER = 'after';

/**
 * A route's query parameters, other than those for pages and `expand`: the fields of its document's `$filter`, and the
 * parameters that the route itself lists.
 */
export function queryParameters(schema: GraphQLSchema, route: RestRoute): QueryParameter[] {
  if (route.method !== 'GET') return [];
  const own = Object.entries(route.query ?? {}).map(([name, { to, description }]) =>
    parameter(name, to, typeAt(schema, route.document, to), description, definitionOf(route.document, to)),
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
  definition?: VariableDefinitionNode,
): QueryParameter {
  const isList = isListType(isNonNullType(type) ? type.ofType : type);
  const text = isList ? `${description} Repeatable.` : description;
  const isRequired = definition?.type.kind === Kind.NON_NULL_TYPE && definition.defaultValue === undefined;
  return { name, to, type, isList, isRequired, defaultValue: defaultOf(type, definition), description: text };
}

/** The definition of a variable; undefined for fields inside a variable. */
function definitionOf(document: DocumentNode, [name, ...rest]: readonly string[]): VariableDefinitionNode | undefined {
  if (rest.length > 0) return undefined;
  return operationOf(document).variableDefinitions?.find(({ variable }) => variable.name.value === name);
}

function defaultOf(type: GraphQLInputType, definition: VariableDefinitionNode | undefined): unknown {
  return definition?.defaultValue && valueFromAST(definition.defaultValue, type);
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

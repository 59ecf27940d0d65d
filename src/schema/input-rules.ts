import type { GraphQLArgument, GraphQLInputObjectType } from 'graphql';
import type { z } from 'zod';

/**
 * The `extensions` of a GraphQL input type or argument: the schema that checks its values, with the same field names. The OpenAPI
 * document gets its limits from there, so that they aren't listed twice.
 */
export const checkedBy = (rules: z.ZodType): { rules: z.ZodType } => ({ rules });

/** The schema that checks the values. Undefined if nothing but their types is checked. */
export function rulesOf({
  extensions,
}: Pick<GraphQLInputObjectType | GraphQLArgument, 'extensions'>): z.ZodType | undefined {
  return extensions.rules as z.ZodType | undefined;
}

/** The `extensions` of an input type for the config of one connector type. */
export const configOf = (connectorType: string): { connectorType: string } => ({ connectorType });

/** The connector type whose config an input type contains. */
export function connectorTypeOf({ extensions }: Pick<GraphQLInputObjectType, 'extensions'>): string {
  return extensions.connectorType as string;
}

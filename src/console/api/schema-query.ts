import { getIntrospectionQuery } from 'graphql';

/** Asks for the GraphQL API's schema. */
export const SCHEMA_QUERY = getIntrospectionQuery({ inputValueDeprecation: true, oneOf: true });

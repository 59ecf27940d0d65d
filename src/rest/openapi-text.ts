import type { GraphQLSchema } from 'graphql';
import { createOpenApi } from './openapi.ts';
import type { RestRoute } from './routes/route.ts';

/** Stands for the server's URL. No URL looks like this. */
const PLACEHOLDER = '{server}';

/**
 * Writes the OpenAPI document when it is first requested, because that takes a while, and most processes are never asked
 * for it. Only the server's URL differs between requests. The documents share all of their other bytes, because anyone can
 * request any number of them without reading any.
 *
 * @returns the function that returns the document as JSON, in chunks, for the server at an absolute URL without a path.
 */
export function createOpenApiText(
  schema: GraphQLSchema,
  routes: readonly RestRoute[],
): (serverUrl: string) => Buffer[] {
  let parts: Buffer[] | undefined;
  return (serverUrl) => {
    parts ??= JSON.stringify(createOpenApi(schema, routes, PLACEHOLDER))
      .split(JSON.stringify(PLACEHOLDER))
      .map((part) => Buffer.from(part));
    const url = Buffer.from(JSON.stringify(serverUrl));
    return parts.flatMap((part, index) => (index === 0 ? [part] : [url, part]));
  };
}

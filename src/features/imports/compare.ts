import type { Endpoint } from '../../generated/prisma/client.ts';
import type { ApiDocument, ApiOperation } from './openapi/document.ts';
import { shapeOf } from './openapi/paths.ts';
import { type Proposal, proposalOf } from './proposals.ts';

/** The key of an endpoint within its project. */
export type Known = Pick<Endpoint, 'id' | 'path' | 'methods'>;

/** A proposal with the endpoint that already serves it, or an endpoint that the document doesn't mention. */
export type Match<Stored extends Known> =
  | { proposal: Proposal; endpoint: Stored | undefined }
  | { proposal: undefined; endpoint: Stored };

/**
 * Matches a document's operations with a project's endpoints. An operation belongs to the endpoint whose path matches the
 * same requests and that serves its method. A path's remaining operations become one new endpoint.
 */
export function matchOperations<Stored extends Known>(
  { operations }: ApiDocument,
  endpoints: readonly Stored[],
  baseOf: (server: string | null) => string,
): Match<Stored>[] {
  const byShape = Map.groupBy(endpoints, ({ path }) => shapeOf(path));
  const serving = ({ path, method }: ApiOperation) =>
    byShape.get(shapeOf(path))?.find(({ methods }) => methods.length === 0 || methods.includes(method));
  const matches: Match<Stored>[] = [];
  const mentioned = new Set<Stored>();
  for (const ofPath of Map.groupBy(operations, ({ path }) => path).values()) {
    for (const [endpoint, served] of Map.groupBy(ofPath, serving)) {
      matches.push({ proposal: proposalOf(served, baseOf), endpoint });
      if (endpoint) mentioned.add(endpoint);
    }
  }
  const gone = endpoints.filter((endpoint) => !mentioned.has(endpoint));
  return [...matches, ...gone.map((endpoint) => ({ proposal: undefined, endpoint }))];
}

import { isDeepStrictEqual } from 'node:util';
import type { Endpoint, EndpointProtocol } from '../../generated/prisma/client.ts';
import type { CreateEndpointInput, UpdateEndpointInput } from '../endpoints/input.ts';
import { methodsOf } from '../endpoints/methods.ts';
import { shapeOf } from './openapi/paths.ts';
import type { Proposal } from './proposals.ts';

/** One field that differs between an endpoint and the document. */
export type Change = { field: string; before: unknown; after: unknown };

type Stored = Pick<
  Endpoint,
  'path' | 'description' | 'upstreamUrl' | 'methods' | 'mimeType' | 'inputSchema' | 'exampleResponse' | 'tags'
> & { protocol?: EndpointProtocol };
type Input = Omit<CreateEndpointInput, 'priceUsd'>;

/**
 * The fields that an import sets on an endpoint, other than the price. Each has the same name in a proposal, in a
 * stored endpoint, and in the inputs of `createEndpoint` and `updateEndpoint`.
 */
const IMPORTED = [
  ...(['path', 'description', 'upstreamUrl', 'methods'] as const),
  ...(['mimeType', 'inputSchema', 'exampleResponse', 'tags'] as const),
] satisfies readonly (keyof Input & keyof Proposal & keyof Stored)[];

/** The columns to read in order to compare an endpoint with a proposal. */
export const COMPARED = Object.fromEntries(IMPORTED.map((field) => [field, true])) as Record<
  (typeof IMPORTED)[number],
  true
>;

/** The properties of a new endpoint. */
export function creationOf(proposal: Proposal): Input {
  return Object.fromEntries(IMPORTED.map((field) => [field, proposal[field]])) as Input;
}

/**
 * The changes that the document makes. Fields that it doesn't mention stay unchanged, and so do a query that the
 * seller added to the same URL, and the methods of an MCP endpoint.
 */
export function changesOf(stored: Stored, proposal: Proposal): Change[] {
  const upstreamUrl = withQueryOf(stored.upstreamUrl, proposal.upstreamUrl);
  const before = { ...stored, methods: methodsOf(stored) };
  const after = { ...proposal, upstreamUrl };
  const isFixed = (field: string) => field === 'methods' && stored.protocol === 'MCP';
  return IMPORTED.filter(
    (field) => !isFixed(field) && isMentioned(after[field]) && !isSame(before[field], after[field]),
  ).map((field) => ({ field, before: before[field], after: after[field] }));
}

/** The changes as the input of `updateEndpoint`. */
export function updateOf(changes: readonly Change[]): UpdateEndpointInput {
  return Object.fromEntries(changes.map(({ field, after }) => [field, after]));
}

/** The order of methods and tags doesn't matter. */
function isSame(before: unknown, after: unknown): boolean {
  const [one, other] = [before, after].map((value) => (Array.isArray(value) ? value.toSorted() : value));
  return isDeepStrictEqual(one, other);
}

function isMentioned(value: unknown): boolean {
  return value !== null && !(Array.isArray(value) && value.length === 0);
}

/** Why an endpoint can't have the document's upstream URL; undefined if it can. */
export function refusedMove(stored: Pick<Stored, 'upstreamUrl'>, proposal: Proposal): string | undefined {
  const isQueryLost =
    stored.upstreamUrl.includes('?') && !withQueryOf(stored.upstreamUrl, proposal.upstreamUrl).includes('?');
  return isQueryLost ? QUERY_STAYS : undefined;
}

const QUERY_STAYS =
  'The endpoint’s upstream URL has a query that may be secret, so the import doesn’t send it to another URL. First change the ' +
  'endpoint’s upstream URL yourself, including its query.';

/**
 * Keeps the query that the seller added to the upstream URL, such as a fixed parameter. It may be secret, and the
 * document may come from an untrusted source, so it is never added to a different URL.
 */
function withQueryOf(stored: string, proposed: string): string {
  const start = stored.indexOf('?');
  if (start < 0 || shapeOf(stored.slice(0, start)) !== shapeOf(proposed)) return proposed;
  return proposed + stored.slice(start);
}

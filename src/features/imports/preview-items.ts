import { priceUsdOf } from '../endpoints/price-usd.ts';
import type { Match } from './compare.ts';
import { type Change, refusedMove } from './fields.ts';
import type { Stored } from './stored-endpoints.ts';

/** How a path in the document relates to the project's endpoints. */
export const PREVIEW_STATUSES = ['NEW', 'CHANGED', 'SAME', 'GONE'] as const;

export type PreviewItem = {
  status: (typeof PREVIEW_STATUSES)[number];
  path: string;
  methods: string[];
  description: string | null;
  upstreamUrl: string;
  priceUsd: string | null;
  mimeType: string | null;
  tags: string[];
  endpointId: string | null;
  changes: Change[];
  problems: string[];
};

/** How many bytes of the endpoints' current schemas and examples a preview has. As objects, they use much more memory. */
const MAX_BEFORE_BYTES = 2 * 1024 * 1024;
const LARGE = new Set(['inputSchema', 'exampleResponse']);

/**
 * Creates a preview's items.
 *
 * @param shownUrl returns a URL as the viewer can see it.
 * @returns a function that returns the item for a match
 */
export function createPreviewItems(priceUsd: string | null, shownUrl: (url: string) => string) {
  let bytesLeft = MAX_BEFORE_BYTES;

  function shownChange({ field, before, after }: Change): Change & { isCut: boolean } {
    if (field === 'upstreamUrl')
      return { field, before: shownUrl(before as string), after: shownUrl(after as string), isCut: false };
    if (LARGE.has(field)) bytesLeft -= JSON.stringify(before).length;
    const isCut = LARGE.has(field) && bytesLeft < 0;
    return { field, before: isCut ? null : before, after, isCut };
  }

  return ({ proposal, endpoint }: Match<Stored>, found: readonly Change[]): PreviewItem => {
    const own = { priceUsd: endpoint ? priceUsdOf(endpoint) : priceUsd, endpointId: endpoint?.id ?? null };
    if (!proposal) {
      const { path, methods, description, upstreamUrl } = endpoint;
      const shown = { path, methods, description, upstreamUrl: shownUrl(upstreamUrl), ...own };
      return { status: 'GONE', ...shown, mimeType: null, tags: [], changes: [], problems: [] };
    }
    const { path, methods, description, upstreamUrl, mimeType, tags } = proposal;
    const shown = found.map(shownChange);
    const refusal = endpoint && refusedMove(endpoint, proposal);
    const cut = shown.flatMap(({ field, isCut }) =>
      isCut ? `The current \`${field}\` isn’t shown, ${TOO_LARGE}` : [],
    );
    return {
      status: statusOf(endpoint, found),
      path,
      methods,
      description,
      mimeType,
      tags,
      ...own,
      upstreamUrl: shownUrl(upstreamUrl),
      changes: shown.map(({ isCut: _isCut, ...change }) => change),
      problems: [...proposal.problems, ...(refusal === undefined ? [] : [refusal]), ...cut],
    };
  };
}

const TOO_LARGE = 'because the preview would be too large. Read it from the endpoint.';

function statusOf(endpoint: object | undefined, changes: readonly Change[]) {
  if (!endpoint) return 'NEW';
  return changes.length > 0 ? 'CHANGED' : 'SAME';
}

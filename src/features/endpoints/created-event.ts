import { maskUrl } from '../../secrets/mask-url.ts';
import type { NewEndpoint } from './insert-endpoint.ts';
import { priceUsdOf } from './price-usd.ts';

/**
 * The longest URL and description in an event. The mask can make a URL several times longer, imports and copies create
 * hundreds of endpoints in one request, and every event is stored and sent to every destination.
 */
const MAX_TEXT_CHARACTERS = 300;

/** The event that reports a new endpoint. */
export function createdEvent(endpoint: NewEndpoint) {
  const { id, projectId, path, upstreamUrl, description } = endpoint;
  const data = {
    endpointId: id,
    path,
    upstreamUrl: shortened(maskUrl(upstreamUrl)),
    priceUsd: priceUsdOf(endpoint),
    description: description && shortened(description),
  };
  return { projectId, type: 'endpoint.created' as const, data };
}

function shortened(text: string): string {
  if (text.length <= MAX_TEXT_CHARACTERS) return text;
  // Don't split a character that consists of two code units.
  return `${text.slice(0, MAX_TEXT_CHARACTERS - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

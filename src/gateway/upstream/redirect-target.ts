import { waitToSearch } from '../../delivery/send/search-turns.ts';
import { MASK } from '../../secrets/mask.ts';
import { hiddenParts, hiddenSegments } from '../../secrets/mask-url.ts';
import { scrubberOf } from '../../secrets/redact.ts';

/**
 * A redirect's target as sellers see it: without the query and credentials, which may be secret. What the upstream URL's
 * mask hides is hidden here too, because everyone who can see payments can read this.
 */
export async function redirectTarget(
  { origin, pathname }: URL,
  { upstreamUrl, accountId }: { upstreamUrl: string; accountId: string },
): Promise<string> {
  const hidden = new Set(hiddenSegments(upstreamUrl));
  const segments = pathname.split('/').map((segment) => (hidden.has(decoded(segment)) ? MASK : segment));
  const target = origin + segments.join('/');
  const secrets = hiddenParts(upstreamUrl);
  if (secrets.length === 0) return target;
  await waitToSearch(secrets, accountId);
  return scrubberOf(secrets, accountId)(target);
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

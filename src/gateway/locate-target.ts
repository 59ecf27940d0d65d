import type { PaidRequest } from './payment/paid-request.ts';
import type { PaidRoute } from './routing/load-routes.ts';
import type { PublicAddress } from './routing/public-address.ts';
import { lowestPriceOf } from './routing/route-match.ts';
import type { RouteTable } from './routing/route-table.ts';
import { withOtherSlash } from './routing/spelling.ts';
import { withholdSecrets } from './upstream/credentials.ts';
import { publicLocation } from './upstream/location.ts';
import { redirectTarget } from './upstream/redirect-target.ts';
import type { Upstream } from './upstream/target.ts';

type Located = {
  /** The target at the upstream: `path` is its path and query. */
  origin: string;
  path: string;
  /** The route's parsed upstream URL. */
  upstream: Upstream;
  route: PaidRoute;
  address: Pick<PublicAddress, 'host' | 'base'>;
  /** The request's method and canonical segments. */
  method: string;
  segments: readonly string[];
  routes: Pick<RouteTable, 'find'>;
};

/** The target of a request at the upstream, and how redirects and `Location` there relate to what buyers see and pay. */
export function locateTarget(located: Located): PaidRequest['target'] {
  const { origin, path, upstream, route, address } = located;
  return {
    origin,
    path,
    publicHost: address.host,
    publicLocation: (location, requestedPath) =>
      publicLocation(location, {
        route: { ...route, upstream },
        target: { origin, path: requestedPath },
        address,
      }),
    mayUseOtherSlash: () => isOtherSlashPaid(located),
    withhold: (headers) => withholdSecrets(headers, route.credentials(), route.accountId),
    redirectTarget: (url) => redirectTarget(url, route),
  };
}

/**
 * Whether the route's price also pays for its path with or without the trailing slash. For example, `/files` can match
 * the cheap `/*`, while `/files/` matches a more expensive `/files/*`.
 */
async function isOtherSlashPaid({ route, method, segments, routes }: Located): Promise<boolean> {
  const other = withOtherSlash(segments);
  if (!other) return true;
  const found = await routes.find(route.projectId, other, method).catch(() => undefined);
  if (!found?.route) return false;
  return found.route.endpointId === route.endpointId || found.route.priceAtomic <= lowestPriceOf(route);
}

import type { Config } from '../../config/config.ts';
import { prefixBitsOf } from '../../egress/allow-list.ts';
import { type Finding, findingsOf } from './finding.ts';

/** Whether an entry allows a whole network or every port. */
export function isWide(entry: string): boolean {
  return entry.endsWith(':*') || prefixBitsOf(entry) < 24;
}

/** Lists the non-public addresses that the operator has allowed. Returns no findings if there are none. */
export function openingFindings({ upstreamAllow, serviceAllow }: Config): Finding[] {
  const forAll = upstreamAllow.openings.filter(({ projectIds }) => projectIds.length === 0).map(({ entry }) => entry);
  const forSome = upstreamAllow.openings.filter(({ projectIds }) => projectIds.length > 0).map(({ entry }) => entry);
  return [
    ...findingOf('UPSTREAM_ALLOW', forAll, 'for the upstreams of every project'),
    ...findingOf('UPSTREAM_ALLOW', forSome, 'for the upstreams of the listed projects'),
    ...findingOf('SERVICE_ALLOW', serviceAllow.entries, 'for the URLs in the configuration'),
  ];
}

function findingOf(variable: string, entries: string[], purpose: string): Finding[] {
  if (entries.length === 0) return [];
  const { ok, warning } = findingsOf(variable);
  const wide = entries.filter(isWide);
  if (wide.length === 0) return [ok(`allows ${entries.join(', ')} ${purpose}`)];
  const message = `It allows a whole network or every port ${purpose}: ${wide.join(', ')}.`;
  return [warning(message, 'List individual addresses and ports.')];
}

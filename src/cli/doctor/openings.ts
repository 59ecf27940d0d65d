import type { Config } from '../../config/config.ts';
import type { ProjectAllow } from '../../config/project-allow.ts';
import { prefixBitsOf } from '../../egress/allow-list.ts';
import { type Finding, findingsOf } from './finding.ts';

/** Whether an entry allows a whole network or every port. */
export function isWide(entry: string): boolean {
  return entry.endsWith(':*') || prefixBitsOf(entry) < 24;
}

/** Lists the non-public addresses that the operator has allowed. Returns no findings if there are none. */
export function openingFindings({ upstreamAllow, webhookAllow, serviceAllow }: Config): Finding[] {
  return [
    ...projectFindings('UPSTREAM_ALLOW', upstreamAllow, 'upstreams'),
    ...projectFindings('WEBHOOK_ALLOW', webhookAllow, 'webhooks'),
    ...findingOf('SERVICE_ALLOW', serviceAllow.entries, 'for the URLs in the configuration'),
  ];
}

function projectFindings(variable: string, { openings }: ProjectAllow, users: string): Finding[] {
  const forAll = openings.filter(({ projectIds }) => projectIds.length === 0).map(({ entry }) => entry);
  const forSome = openings.filter(({ projectIds }) => projectIds.length > 0).map(({ entry }) => entry);
  return [
    ...findingOf(variable, forAll, `for the ${users} of every project`),
    ...findingOf(variable, forSome, `for the ${users} of the listed projects`),
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

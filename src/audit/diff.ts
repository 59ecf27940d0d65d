import { maskUrl } from '../secrets/mask-url.ts';
import type { AuditAction } from './actions.ts';
import { type EntryValues, shrinkValues, type Values } from './value-sizes.ts';

type Resource = AuditAction extends `${infer Name}.${string}` ? Name : never;

/** The fields that the log may store. Entries are stored forever, so a new field is excluded until it is added here. */
const KEPT: Readonly<Record<Resource, readonly string[]>> = {
  project: [
    'name',
    'walletAddress',
    'gatewayHost',
    'slug',
    'milestonesUsd',
    'mode',
    'networks',
    'timeZone',
    'copiedFrom',
    'upstreamHeaders',
    'description',
    'iconUrl',
    'contact',
    'ownerId',
    // Of its buyer rules. Of the lists, only the changes are kept.
    ...['period', 'maxRequests', 'maxSpendUsd'],
    ...['allowedWalletsAdded', 'allowedWalletsRemoved', 'deniedWalletsAdded', 'deniedWalletsRemoved'],
    'overlapHours',
  ],
  endpoint: [
    'path',
    'upstreamUrl',
    'priceUsd',
    'description',
    'isActive',
    'forwardedHeaders',
    'upstreamHeaders',
    'methods',
    ...['mimeType', 'inputSchema', 'exampleResponse', 'tags'],
    ...['protocol', 'settlement', 'timeoutSeconds'],
  ],
  api_key: ['name', 'environment', 'scopes', 'allowedAddresses', 'expiresAt'],
  webhook: [
    ...[
      'name',
      'url',
      'description',
      'eventTypes',
      'filter',
      'payloadVersion',
      'ordering',
      'orderingEscapeAfterAttempts',
    ],
    ...['maxPerSecond', 'timeoutSeconds', 'retrySchedule', 'isActive', 'isPaused', 'overlapHours'],
    // The values that the API shows, with secrets redacted. Certificates are fingerprints.
    ...['headers', 'authentication', 'clientCertificate', 'certificateAuthority'],
  ],
  // The config as the API shows it, with secrets redacted.
  connector: ['name', 'type', 'config', 'eventTypes', 'filter', 'maxPerSecond', 'isActive', 'isPaused'],
  contacts: ['emails', 'webhookUrl', 'slackUrl', 'weeklyDigest'],
  member: ['userId', 'email', 'role'],
  invitation: ['email', 'role'],
  transfer: ['userId', 'email'],
  replay: ['filter', 'total', 'maxPerSecond'],
  user: ['tier', 'requestsPerMinute', 'tierSetBy', 'reason', 'from', 'total', 'maxPerSecond'],
  mcp: ['tool', 'arguments'],
};
const URLS: ReadonlySet<string> = new Set(['upstreamUrl', 'url', 'webhookUrl', 'slackUrl']);

/** The values that the log stores for an action, in the API's spelling, with URLs masked and large values shrunk. */
export function keptValues(action: AuditAction, { changes, previous }: EntryValues): EntryValues {
  const kept = KEPT[action.split('.')[0] as Resource];
  const pick = (values: Values) =>
    Object.fromEntries(
      Object.entries(values)
        .filter(([name, value]) => value !== undefined && kept.includes(name))
        .map(([name, value]) => [name, URLS.has(name) && typeof value === 'string' ? maskUrl(value) : value]),
    );
  return shrinkValues({ changes: pick(changes), previous: previous && pick(previous) });
}

/**
 * The fields that changed, with both values. Two URLs that differ only in their masked parts count as a change.
 *
 * @param before the old values. Omit them for a new resource, so that every field counts as a change.
 */
export function changesBetween(before: Values | undefined, after: Values): { changes: Values; previous?: Values } {
  const names = Object.keys(after).filter((name) => !isSame(before?.[name], after[name]));
  const pick = (values: Values) => Object.fromEntries(names.map((name) => [name, values[name] ?? null]));
  return before ? { changes: pick(after), previous: pick(before) } : { changes: pick(after) };
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
}

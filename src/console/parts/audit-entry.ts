import type { AuditLogQuery } from '../../generated/console/audit-log.ts';
import { formatCount, formatEnum, formatUsd } from './format.ts';

export type AuditRow = NonNullable<AuditLogQuery['project']>['auditLog']['nodes'][number];

/** A changed field: its name as a label, and its values as text. `before` is missing if there was none. */
export type Change = { label: string; before?: string; after: string };

const ACTOR_BADGES: Readonly<Record<AuditRow['actorKind'], string | undefined>> = {
  USER: undefined,
  API_KEY: 'API key',
  OPERATOR: 'Runs this server',
};
const LABELS: Readonly<Record<string, string>> = {
  isActive: 'Enabled',
  isPaused: 'Paused',
  maxPerSecond: 'Rate limit (per second)',
  gatewayHost: 'Custom domain',
  milestonesUsd: 'Customer milestones (USD)',
};
/** What each suffix of a field name means. */
const ENDINGS: Readonly<Record<string, string>> = { Usd: ' (USD)', Seconds: ' (seconds)', Hours: ' (hours)' };
/** Fields whose values are uppercase enum names. HTTP methods aren't included, because they stay as they are. */
const ENUMS: ReadonlySet<string> = new Set([
  ...['environment', 'scopes', 'mode', 'ordering', 'retrySchedule', 'protocol', 'settlement', 'role', 'tier', 'status'],
  'period',
]);
const NOTHING = 'none';
/** The page of a resource, by the prefix of its ID. */
const PAGES: Readonly<Record<string, (id: string) => string>> = {
  proj: () => '/settings',
  ep: (id) => `/endpoints/${id}`,
  wh: (id) => `/webhooks/${id}`,
  con: (id) => `/connectors/${id}`,
  key: () => '/keys',
  rpl: () => '/replays',
  usr: () => '/members',
  mem: () => '/members',
  inv: () => '/members',
  trf: () => '/members',
};

/** Who made a change, and a badge for everyone who isn't a user. Operators aren't named. */
export function actorOf({ actorKind, actorName }: Pick<AuditRow, 'actorKind' | 'actorName'>) {
  return { name: actorKind === 'OPERATOR' ? 'An operator' : actorName, badge: ACTOR_BADGES[actorKind] };
}

/** An action in plain words: `API_KEY_CREATED` becomes `API key created`. */
export function actionText(action: string): string {
  return formatEnum(action)
    .replace(/^Api\b/, 'API')
    .replace(/^Mcp\b/, 'MCP');
}

/** The page of the changed resource, relative to the project. Undefined if it was deleted, or has no page. */
export function resourcePath({ action, targetId }: Pick<AuditRow, 'action' | 'targetId'>): string | undefined {
  if (/^MCP_|_(DELETED|REVOKED|REMOVED|DECLINED)$/.test(action)) return undefined;
  if (action.startsWith('CONTACTS_')) return '/notices';
  return PAGES[targetId.split('_')[0]!]?.(targetId);
}

/** The resource's name, if the entry contains it. */
export function resourceName({ changes, previous }: Pick<AuditRow, 'changes' | 'previous'>): string | undefined {
  const values = { ...fieldsOf(previous), ...fieldsOf(changes) };
  return ['name', 'path', 'email', 'url', 'tool']
    .map((field) => values[field])
    .find((name) => typeof name === 'string');
}

/** The changed fields, with their previous values if the log has them. For new resources, only shows what was set. */
export function changesOf({ changes, previous }: Pick<AuditRow, 'changes' | 'previous'>): Change[] {
  const before = fieldsOf(previous);
  return Object.entries(fieldsOf(changes))
    .filter(([name, value]) => name in before || !isNothing(value))
    .map(([name, value]) => ({
      label: labelOf(name),
      ...(name in before && { before: textOf(name, before[name]) }),
      after: textOf(name, value),
    }));
}

const fieldsOf = (values: unknown) => (values ?? {}) as Readonly<Record<string, unknown>>;

const isNothing = (value: unknown): boolean =>
  value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);

/** `upstreamUrl` as a label: `Upstream URL`. */
function labelOf(name: string): string {
  if (LABELS[name]) return LABELS[name];
  const [, start = name, ending = ''] = /^(.+?)(Usd|Seconds|Hours)$/.exec(name) ?? [];
  const words = start.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  const sentence = words.charAt(0).toUpperCase() + words.slice(1);
  return sentence.replace(/\burl\b/i, 'URL').replace(/\bid\b/, 'ID') + (ENDINGS[ending] ?? '');
}

function textOf(name: string, value: unknown): string {
  if (isNothing(value)) return NOTHING;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (name.endsWith('Usd') && typeof value === 'string') return formatUsd(value);
  if (Array.isArray(value)) return value.map((item) => textOf(name, item)).join(', ');
  if (typeof value === 'string') return ENUMS.has(name) ? formatEnum(value) : value;
  if (typeof value !== 'object') return String(value);
  if (isShrunk(value!)) return `${formatCount(value.bytes)} bytes (SHA-256 ${value.sha256.slice(0, 8)}…)`;
  const parts = Object.entries(value as Readonly<Record<string, unknown>>);
  return parts.map(([key, part]) => `${key}: ${textOf(key, part)}`).join(', ');
}

/** Whether the log stores only a value's size and hash, because the value is large. */
function isShrunk(value: object): value is { bytes: number; sha256: string } {
  const { bytes, sha256, ...others } = value as Readonly<Record<string, unknown>>;
  const isHash = typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256);
  return isHash && typeof bytes === 'number' && Object.keys(others).length === 0;
}

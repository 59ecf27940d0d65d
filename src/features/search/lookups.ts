import { asReference } from '../../database/reference.ts';
import { type Statement, statement, statements } from '../../database/statement.ts';
import type { VisibleProjectId } from '../../database/tenant-filter.ts';
import type { IdType } from '../../ids.ts';
import { SEARCHED_TYPES, type SearchedType } from './results.ts';

/** A statement that finds items in projects by a value. */
export type Lookup = (projectIds: readonly VisibleProjectId[], value: string) => Statement<Found>;

type Found = { type: string; id: string; projectId: string | null; label: string; status: string };

const MAX_PER_TYPE = 10;
/** Names and paths have no index, so only a limited number of rows are searched. */
const MAX_LOOKED_THROUGH = 20_000;

/** The host and port of a URL, without any user name and password. */
const hostOf = (column: string) => `substring(${column} from '^[A-Za-z]+://(?:[^/?#@]*@)?([^/?#]+)')`;
const ACTIVITY = `CASE WHEN NOT "isActive" THEN 'DISABLED' WHEN "pausedAt" IS NOT NULL THEN 'PAUSED' ELSE 'ACTIVE' END`;
const USD = `rtrim(rtrim(round("amountAtomic" / 1000000, 6)::text, '0'), '.')`;

/** The text that is shown for each type of item. It contains no secrets. For URLs, only the host is shown. */
const SHOWN: Readonly<Record<SearchedType, { label: string; status: string; projectId?: string; isShown?: string }>> = {
  Project: { label: '"name"', status: '"mode"::text', projectId: '"id"' },
  Payment: { label: `'$' || ${USD} || ' ' || "method" || ' ' || "endpointPath"`, status: '"status"::text' },
  Customer: { label: '"walletAddress"', status: 'NULL' },
  Endpoint: { label: '"path"', status: `CASE WHEN "isActive" THEN 'ACTIVE' ELSE 'DISABLED' END` },
  Webhook: { label: `coalesce("name", ${hostOf('"url"')}, '')`, status: ACTIVITY },
  Connector: { label: 'coalesce("name", "type")', status: ACTIVITY },
  Delivery: { label: '"eventType"', status: '"status"::text' },
  Event: { label: '"type"', status: 'NULL' },
  ApiKey: {
    label: `"name" || ' (tg_' || lower("environment"::text) || '_…' || "last4" || ')'`,
    status: 'NULL',
    isShown: '"revokedAt" IS NULL',
  },
  Replay: { label: `'Replay of ' || "total" || ' deliveries'`, status: '"status"::text' },
  Notice: { label: '"type"', status: 'NULL' },
  AuditEntry: { label: '"action"', status: 'NULL' },
};

/** The newest items of a type that meet a condition on the projects `$1` and the value `$2`. */
function select(type: SearchedType, condition: string, from = `"${type}"`): string {
  const { label, status, projectId = '"projectId"', isShown = 'true' } = SHOWN[type];
  return `(SELECT '${type}' AS "type", "id", ${projectId} AS "projectId", ${label} AS "label", ${status} AS "status"
    FROM ${from} WHERE ${projectId} = ANY($1) AND ${isShown} AND ${condition} ORDER BY "id" DESC LIMIT ${MAX_PER_TYPE})`;
}

const union = (...selects: string[]) => selects.join('\nUNION ALL\n');

/** Finds an item by its ID. Other types of items don't have a page in the console. */
export const BY_ID: Readonly<Partial<Record<IdType, Lookup>>> = statements('search-by-id', SEARCHED_TYPES, (type) =>
  select(type, '"id" = $2'),
);

/** Finds payments by their transaction. */
export const BY_HASH: Lookup = statement('search-by-hash', select('Payment', '"transactionHash" = $2'));

/**
 * Finds a customer and its newest payments by wallet. In stored wallet addresses, the case of the letters encodes a
 * checksum.
 */
export const BY_WALLET: Lookup = statement(
  'search-by-wallet',
  union(
    select('Customer', '"walletAddress" = $2'),
    select(
      'Payment',
      'true',
      `(SELECT p.* FROM "Customer" c CROSS JOIN LATERAL (
        SELECT * FROM "Payment" WHERE "customerId" = ${asReference('c."id"')} ORDER BY "id" DESC LIMIT ${MAX_PER_TYPE}
      ) p WHERE c."projectId" = ANY($1) AND c."walletAddress" = $2) AS found`,
    ),
  ),
);

/** Whether a string contains the search text, regardless of case. `strpos` has no wildcards. */
const contains = (text: string) => `strpos(lower(${text}), lower($2)) > 0`;

/** The projects' rows. The limit also keeps the planner from reading everyone's rows in result order. */
const known = (type: SearchedType) => `(
      SELECT * FROM "${type}" WHERE "projectId" = ANY($1) LIMIT ${MAX_LOOKED_THROUGH}
    ) AS known`;

/** Searches connectors' configs, whose secrets are stored masked. For URLs, only the host is searched. */
const CONFIG_HOST = `EXISTS (
      SELECT FROM jsonb_each_text("config") AS field WHERE ${contains(hostOf('field.value'))}
    )`;

const BY_NAME = [
  select('Payment', '"paymentIdentifier" = $2 AND "failureStage" IS NULL'),
  select('Endpoint', contains('"path"'), known('Endpoint')),
  select('Webhook', `(${contains('"name"')} OR ${contains(hostOf('"url"'))})`, known('Webhook')),
  select('Connector', `(${contains('"name"')} OR ${contains('"type"')} OR ${CONFIG_HOST})`, known('Connector')),
  select(
    'ApiKey',
    `(${contains('"name"')} OR "last4" = $2 OR starts_with('tg_' || lower("environment"::text) || '_', $2))`,
    known('ApiKey'),
  ),
];

export const BY_TEXT: Readonly<Record<'inProject' | 'everywhere', Lookup>> = {
  inProject: statement('search-by-text', union(...BY_NAME)),
  everywhere: statement('search-by-text-everywhere', union(select('Project', contains('"name"')), ...BY_NAME)),
};

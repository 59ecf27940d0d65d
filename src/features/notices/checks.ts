import type pg from 'pg';
import type { Logger } from 'pino';
import type { ConnectorDefinition } from '../../connectors/definition.ts';
import { listConnectors } from '../../connectors/types/registry.ts';
import { firstKeptAt } from '../../database/partitions.ts';
import { asReference } from '../../database/reference.ts';
import { firstIdAt } from '../../ids.ts';
import { DELETED_USER_ID } from '../deletions/soft-delete.ts';
import { EXPIRING, eachProjectPage, type ProjectPage } from './expiring.ts';
import type { NoticeType } from './types.ts';

type CheckOptions = {
  retentionDays: number;
  definitions: readonly ConnectorDefinition[];
  now: number;
  /** The projects to check. Only the checks in `PAGED` look at some of them at a time. */
  page: ProjectPage;
};

/**
 * How to detect a situation that isn't caused by a single change: a query for all current cases, with the columns
 * `projectId`, `subjectId`, `subject`, `detail`, and `count`. `isSentAgain`: whether the contacts also get a message
 * when the count grows.
 */
type Check = (options: CheckOptions) => { text: string; values: unknown[]; isSentAgain?: boolean };

/** Warn this long before undelivered deliveries are dropped. */
const EXPIRING_MILLISECONDS = 3 * 86_400_000;
const UNCERTAIN_SECONDS = 3600;
/** The facilitator counts as unreachable after this many failures in a row within this time. */
const UNREACHABLE = { failures: 3, withinMilliseconds: 15 * 60_000 };
/** The reason that `gateway/payment` records when a call to the facilitator fails. */
const FACILITATOR_UNAVAILABLE = 'facilitator_unavailable';
const CREDENTIAL_DAYS = 60;
/**
 * The owner of an API key is warned this many days before it expires. A warning that was due before the key was created
 * is skipped.
 */
const API_KEY_DAYS = { first: 7, second: 1 };
/** How long the notice about an expired API key stays open. */
const EXPIRED_DAYS = 7;
const SHUTDOWN_DAYS = 180;
/** Connector configs that already use the successor of a service that is shutting down. */
const MOVED: Readonly<Record<string, object>> = { opsgenie: { region: 'jsm' } };

const WEBHOOK_NAME = `substring(w."url" FROM '^[A-Za-z]+://(?:[^/?#@]*@)?([^/?#@]+)')`;

/** Keys may have the same name, so the end of the key is added. */
const API_KEY_NAME = `"name" || ' (…' || "last4" || ')'`;

/**
 * The checks, by the type of notice they open. A check opens a notice when it first finds a case, updates the notice
 * while the case continues, and closes it afterward.
 */
const CHECKS: Partial<Record<NoticeType, Check>> = {
  'deliveries.expiring': ({ retentionDays, now, page }) => ({
    text: `
      SELECT found."projectId", found."subjectId", coalesce(w."name", ${WEBHOOK_NAME}, c."name", c."type", 'a destination') AS "subject",
        NULL::text AS "detail", found."count"
      FROM (${EXPIRING}) AS found
      LEFT JOIN "Webhook" w ON w."id" = found."subjectId" LEFT JOIN "Connector" c ON c."id" = found."subjectId"
      WHERE coalesce(w."projectId", c."projectId") = found."projectId"`,
    values: [firstIdAt('Delivery', firstKeptAt(now + EXPIRING_MILLISECONDS, retentionDays)), page.after, page.upTo],
  }),
  // Payments that aren't final have a lease, and an index covers them.
  'payment.uncertain': () => ({
    text: `
      SELECT "projectId", "projectId" AS "subjectId", 'Payments' AS "subject", NULL::text AS "detail", count(*)::int AS "count"
      FROM "Payment"
      WHERE "leasedUntil" IS NOT NULL AND "status" = 'UNKNOWN'
        AND coalesce("servedAt", "createdAt") <= now() - make_interval(secs => $1)
      GROUP BY "projectId"`,
    values: [UNCERTAIN_SECONDS],
  }),
  // Counts the payments that failed for buyers, no matter which process called the facilitator. Failed payments have an
  // index by project.
  'facilitator.unreachable': ({ now, page }) => ({
    text: `
      SELECT p."id" AS "projectId", p."id" AS "subjectId", 'Payments' AS "subject", NULL::text AS "detail", failed."count"
      FROM "Project" p CROSS JOIN LATERAL (
        SELECT count(*)::int AS "count", max(f."id") AS "last" FROM "Payment" f
        WHERE f."projectId" = ${asReference('p."id"')} AND f."failureStage" IS NOT NULL AND f."id" >= $1 AND f."failureReason" = $2
          AND f."id" > coalesce((
            SELECT v."id" FROM "Payment" v
            WHERE v."projectId" = ${asReference('p."id"')} AND v."id" >= $1 AND v."verifiedAt" IS NOT NULL ORDER BY v."id" DESC LIMIT 1
          ), '')
      ) AS failed
      WHERE p."id" > $4 AND ($5::text IS NULL OR p."id" <= $5) AND failed."count" >= $3`,
    values: [
      firstIdAt('Payment', now - UNREACHABLE.withinMilliseconds),
      FACILITATOR_UNAVAILABLE,
      UNREACHABLE.failures,
      page.after,
      page.upTo,
    ],
  }),
  'credential.expiring': () => ({
    text: `
      SELECT "projectId", "id" AS "subjectId", coalesce("name", "type") AS "subject", 1 AS "count",
        'The vendor will stop accepting it on ' ||
          to_char("credentialExpiresAt" AT TIME ZONE 'UTC', 'FMMonth FMDD, YYYY') AS "detail"
      FROM "Connector"
      WHERE "isActive" AND "credentialExpiresAt" > now() AND "credentialExpiresAt" <= now() + make_interval(days => $1)`,
    values: [CREDENTIAL_DAYS],
  }),
  'api_key.expiring': () => ({
    text: `
      SELECT "projectId", "id" AS "subjectId", ${API_KEY_NAME} AS "subject", "left"."count",
        'It expires on ' || to_char("expiresAt" AT TIME ZONE 'UTC', 'FMMonth FMDD, YYYY, HH24:MI') || ' UTC' AS "detail"
      FROM "ApiKey" CROSS JOIN LATERAL (
        SELECT CASE WHEN "expiresAt" <= now() + make_interval(days => $2) THEN 2 ELSE 1 END AS "count"
      ) AS "left"
      WHERE "revokedAt" IS NULL AND "expiresAt" > now() AND "expiresAt" <= now() + make_interval(days => $1)
        AND "createdAt" < "expiresAt" - make_interval(days => CASE "left"."count" WHEN 1 THEN $1 ELSE $2 END)`,
    values: [API_KEY_DAYS.first, API_KEY_DAYS.second],
    isSentAgain: true,
  }),
  // Nobody needs a message about keys that were created to last only a day.
  'api_key.expired': () => ({
    text: `
      SELECT "projectId", "id" AS "subjectId", ${API_KEY_NAME} AS "subject", NULL::text AS "detail", 1 AS "count"
      FROM "ApiKey"
      WHERE "revokedAt" IS NULL AND "expiresAt" <= now() AND "expiresAt" > now() - make_interval(days => $1)
        AND "createdAt" < "expiresAt" - make_interval(days => $2)`,
    values: [EXPIRED_DAYS, API_KEY_DAYS.second],
  }),
  // The failures are recorded by the checks in features/projects/hosts/checks.ts.
  'host.failing': () => ({
    text: `
      SELECT c."projectId", c."projectId" AS "subjectId", c."host" AS "subject", NULL::text AS "detail", 1 AS "count"
      FROM "HostClaim" c JOIN "Project" p ON p."id" = c."projectId" AND p."gatewayHost" = c."host"
      WHERE c."failingSince" IS NOT NULL`,
    values: [],
  }),
  'vendor.shutdown': ({ definitions, now }) => {
    const ending = definitions.flatMap(({ type, title, shutdown }) =>
      shutdown && Date.parse(shutdown.on) - now <= SHUTDOWN_DAYS * 86_400_000 ? [{ type, title, ...shutdown }] : [],
    );
    return {
      text: `
        SELECT c."projectId", c."id" AS "subjectId", ending.title AS "subject", ending.detail AS "detail", 1 AS "count"
        FROM unnest($1::text[], $2::text[], $3::text[], $4::jsonb[]) AS ending(type, title, detail, moved)
        JOIN "Connector" c ON c."type" = ending.type AND c."isActive"
        WHERE ending.moved IS NULL OR NOT c."config" @> ending.moved`,
      values: [
        ending.map(({ type }) => type),
        ending.map(({ title }) => title),
        ending.map(({ on, advice }) => `The service shuts down on ${longDate(on)}. ${advice}`),
        ending.map(({ type }) => (MOVED[type] ? JSON.stringify(MOVED[type]) : null)),
      ],
    };
  },
};

/** These checks look at each project, which can have millions of the rows that they read. */
const PAGED: ReadonlySet<string> = new Set<NoticeType>(['deliveries.expiring', 'facilitator.unreachable']);
const ALL_PROJECTS: ProjectPage = { after: '', upTo: null };

const longDate = (day: string) => new Date(day).toLocaleDateString('en-US', { dateStyle: 'long', timeZone: 'UTC' });

/**
 * Opens, updates, and closes the notices of one type in a page of projects so that they match the query's results, in
 * one statement. The query uses the parameters before `first`, which is the type. The page follows. Results for deleted
 * projects don't count.
 */
function apply(facts: string, first: number, isSentAgain: boolean): string {
  const [type, after, upTo] = [first, first + 1, first + 2].map((number) => `$${number}::text`);
  return `
  WITH fact AS MATERIALIZED (
    SELECT f.* FROM (${facts}) AS f JOIN "Project" owner ON owner."id" = f."projectId" AND owner."userId" <> '${DELETED_USER_ID}'
  ),
  closed AS (
    UPDATE "Notice" n SET "closedAt" = statement_timestamp(), "updatedAt" = statement_timestamp(), "dueAt" = NULL
    WHERE n."type" = ${type} AND n."closedAt" IS NULL AND n."projectId" > ${after} AND (${upTo} IS NULL OR n."projectId" <= ${upTo})
      AND NOT EXISTS (SELECT FROM fact WHERE fact."projectId" = n."projectId" AND fact."subjectId" = n."subjectId")
  )
  INSERT INTO "Notice" AS n ("id", "projectId", "type", "subjectId", "subject", "detail", "count", "dueAt")
  SELECT new_id('ntc'), "projectId", ${type}, "subjectId", "subject", "detail", "count", statement_timestamp() FROM fact
  ON CONFLICT ("projectId", "type", "subjectId") WHERE "closedAt" IS NULL DO UPDATE SET
    "count" = excluded."count", "detail" = excluded."detail", "lastAt" = statement_timestamp(),
    "updatedAt" = statement_timestamp()${isSentAgain ? SEND_AGAIN : ''}
    WHERE (n."count", n."detail") IS DISTINCT FROM (excluded."count", excluded."detail")`;
}

/** If there is something new to report, sends the notice again and marks it as unread. */
const SEND_AGAIN = `,
    "dueAt" = CASE WHEN excluded."count" > n."count" THEN statement_timestamp() ELSE n."dueAt" END,
    "readAt" = CASE WHEN excluded."count" > n."count" THEN NULL ELSE n."readAt" END`;

/**
 * Creates the sweep that runs all checks. Safe to repeat. A failed check doesn't stop the others.
 *
 * @param options `definitions` and `now` are for tests.
 */
export function createNoticeChecks(options: {
  retentionDays: number;
  log: Logger;
  definitions?: readonly ConnectorDefinition[];
  now?: () => number;
}) {
  const { retentionDays, log, definitions = listConnectors(), now = Date.now } = options;

  return async function checkNotices(pool: pg.Pool): Promise<void> {
    for (const [type, check] of Object.entries(CHECKS)) {
      const onError = (error: unknown) =>
        log.warn({ err: error, notice: type }, "couldn't check for notices; the next round will retry");

      async function checkPage(page: ProjectPage): Promise<void> {
        const { text, values, isSentAgain = false } = check({ retentionDays, definitions, now: now(), page });
        await pool
          .query(apply(text, values.length + 1, isSentAgain), [...values, type, page.after, page.upTo])
          .catch(onError);
      }

      if (PAGED.has(type)) await eachProjectPage(pool, checkPage).catch(onError);
      else await checkPage(ALL_PROJECTS);
    }
  };
}

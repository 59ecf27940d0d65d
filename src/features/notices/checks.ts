import type pg from 'pg';
import type { Logger } from 'pino';
import type { ConnectorDefinition } from '../../connectors/definition.ts';
import { listConnectors } from '../../connectors/types/registry.ts';
import { firstKeptAt } from '../../database/partitions.ts';
import { firstIdAt } from '../../ids.ts';
import { DELETED_USER_ID } from '../deletions/bury.ts';
import type { NoticeType } from './types.ts';

type CheckOptions = { retentionDays: number; definitions: readonly ConnectorDefinition[]; now: number };

/**
 * How to find a fact that no single change causes: a query for all current facts, with the columns `projectId`,
 * `subjectId`, `subject`, `detail`, and `count`.
 */
type Check = (options: CheckOptions) => { text: string; values: unknown[] };

/** Warn this long before undelivered deliveries are dropped. */
const EXPIRING_MILLISECONDS = 3 * 86_400_000;
const UNCERTAIN_SECONDS = 3600;
/** The facilitator counts as unreachable after this many failures in a row within this time. */
const UNREACHABLE = { failures: 3, withinMilliseconds: 15 * 60_000 };
/** The reason that `gateway/payment` records when a call to the facilitator fails. */
const FACILITATOR_UNAVAILABLE = 'facilitator_unavailable';
const CREDENTIAL_DAYS = 60;
const SHUTDOWN_DAYS = 180;
/** Configs of connectors that have already moved to a successor of the service that ends. */
const MOVED: Readonly<Record<string, object>> = { opsgenie: { region: 'jsm' } };

const WEBHOOK_NAME = `substring(w."url" FROM '^[A-Za-z]+://(?:[^/?#@]*@)?([^/?#@]+)')`;

/**
 * The checks, by the type of notice they lead to. A check that is added here is run with the others: its notices are
 * opened when it first finds a fact, updated while it does, and closed once it doesn't.
 */
const CHECKS: Partial<Record<NoticeType, Check>> = {
  // Unfinished deliveries have an index by project.
  'deliveries.expiring': ({ retentionDays, now }) => ({
    text: `
      SELECT p."id" AS "projectId", found."subjectId", coalesce(${WEBHOOK_NAME}, c."type", 'a destination') AS "subject",
        NULL::text AS "detail", found."count"
      FROM "Project" p CROSS JOIN LATERAL (
        SELECT coalesce(d."webhookId", d."connectorId") AS "subjectId", count(*)::int AS "count" FROM "Delivery" d
        WHERE d."projectId" = p."id" AND d."outcome" IS NULL AND d."id" < $1 GROUP BY 1
      ) AS found
      LEFT JOIN "Webhook" w ON w."id" = found."subjectId" LEFT JOIN "Connector" c ON c."id" = found."subjectId"
      WHERE coalesce(w."projectId", c."projectId") = p."id"`,
    values: [firstIdAt('Delivery', firstKeptAt(now + EXPIRING_MILLISECONDS, retentionDays))],
  }),
  // Payments that aren't final have a lease, and an index.
  'payment.uncertain': () => ({
    text: `
      SELECT "projectId", "projectId" AS "subjectId", 'Payments' AS "subject", NULL::text AS "detail", count(*)::int AS "count"
      FROM "Payment"
      WHERE "leasedUntil" IS NOT NULL AND "status" = 'UNKNOWN'
        AND coalesce("servedAt", "createdAt") <= now() - make_interval(secs => $1)
      GROUP BY "projectId"`,
    values: [UNCERTAIN_SECONDS],
  }),
  // What buyers experienced, no matter which process called the facilitator. Failed payments have an index by project.
  'facilitator.unreachable': ({ now }) => ({
    text: `
      SELECT p."id" AS "projectId", p."id" AS "subjectId", 'Payments' AS "subject", NULL::text AS "detail", failed."count"
      FROM "Project" p CROSS JOIN LATERAL (
        SELECT count(*)::int AS "count", max(f."id") AS "last" FROM "Payment" f
        WHERE f."projectId" = p."id" AND f."failureStage" IS NOT NULL AND f."id" >= $1 AND f."failureReason" = $2
          AND f."id" > coalesce((
            SELECT v."id" FROM "Payment" v
            WHERE v."projectId" = p."id" AND v."id" >= $1 AND v."verifiedAt" IS NOT NULL ORDER BY v."id" DESC LIMIT 1
          ), '')
      ) AS failed
      WHERE failed."count" >= $3`,
    values: [firstIdAt('Payment', now - UNREACHABLE.withinMilliseconds), FACILITATOR_UNAVAILABLE, UNREACHABLE.failures],
  }),
  'credential.expiring': () => ({
    text: `
      SELECT "projectId", "id" AS "subjectId", "type" AS "subject", 1 AS "count",
        'The vendor ends it on ' || to_char("credentialExpiresAt" AT TIME ZONE 'UTC', 'FMMonth FMDD, YYYY') AS "detail"
      FROM "Connector"
      WHERE "isActive" AND "credentialExpiresAt" > now() AND "credentialExpiresAt" <= now() + make_interval(days => $1)`,
    values: [CREDENTIAL_DAYS],
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
        ending.map(({ on, advice }) => `The service ends on ${longDate(on)}. ${advice}`),
        ending.map(({ type }) => (MOVED[type] ? JSON.stringify(MOVED[type]) : null)),
      ],
    };
  },
};

const longDate = (day: string) => new Date(day).toLocaleDateString('en-US', { dateStyle: 'long', timeZone: 'UTC' });

/**
 * Opens, updates, and closes the notices of one type so that they match the facts, in one statement. The facts have the
 * first parameters, and the type the last one. Facts about deleted projects don't count.
 */
const apply = (facts: string, type: string) => `
  WITH fact AS MATERIALIZED (
    SELECT f.* FROM (${facts}) AS f JOIN "Project" owner ON owner."id" = f."projectId" AND owner."userId" <> '${DELETED_USER_ID}'
  ),
  closed AS (
    UPDATE "Notice" n SET "closedAt" = statement_timestamp(), "updatedAt" = statement_timestamp(), "dueAt" = NULL
    WHERE n."type" = ${type} AND n."closedAt" IS NULL
      AND NOT EXISTS (SELECT FROM fact WHERE fact."projectId" = n."projectId" AND fact."subjectId" = n."subjectId")
  )
  INSERT INTO "Notice" AS n ("id", "projectId", "type", "subjectId", "subject", "detail", "count", "dueAt")
  SELECT new_id('ntc'), "projectId", ${type}, "subjectId", "subject", "detail", "count", statement_timestamp() FROM fact
  ON CONFLICT ("projectId", "type", "subjectId") WHERE "closedAt" IS NULL DO UPDATE SET
    "count" = excluded."count", "detail" = excluded."detail", "lastAt" = statement_timestamp(),
    "updatedAt" = statement_timestamp()
    WHERE (n."count", n."detail") IS DISTINCT FROM (excluded."count", excluded."detail")`;

/**
 * Creates the sweep that runs all checks. Safe to repeat, and a check that fails doesn't keep the others from running.
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
      const { text, values } = check({ retentionDays, definitions, now: now() });
      await pool
        .query(apply(text, `$${values.length + 1}::text`), [...values, type])
        .catch((error) =>
          log.warn({ err: error, notice: type }, "couldn't check for notices; the next round will retry"),
        );
    }
  };
}

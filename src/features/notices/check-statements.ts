/** The statements that detect situations which aren't caused by a single change. See `checks.ts`. */

import { parameterCount } from '../../database/compose-statement.ts';
import { asReference } from '../../database/reference.ts';
import { statement } from '../../database/statement.ts';
import { DELETED_USER_ID } from '../deletions/soft-delete.ts';
import { EXPIRING } from './expiring.ts';

/**
 * Opens, updates, and closes the notices of one type in a page of projects so that they match the query's results, in
 * one statement. The type and the page are the last three parameters. Results for deleted projects don't count. Notices
 * that already match are left out first, because a conflict would lock and write their rows each time.
 *
 * @param facts a query for all current cases, with the columns `projectId`, `subjectId`, `subject`, `detail`, and `count`.
 * @param options `isSentAgain`: whether the contacts also get a message when the count grows.
 */
function apply(facts: string, { isSentAgain = false } = {}): string {
  const first = parameterCount(facts) + 1;
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
  WHERE NOT EXISTS (
    SELECT FROM "Notice" o
    WHERE o."projectId" = fact."projectId" AND o."type" = ${type} AND o."subjectId" = fact."subjectId" AND o."closedAt" IS NULL
      AND o."count" = fact."count" AND o."detail" IS NOT DISTINCT FROM fact."detail"
  )
  ON CONFLICT ("projectId", "type", "subjectId") WHERE "closedAt" IS NULL DO UPDATE SET
    "count" = excluded."count", "detail" = excluded."detail", "lastAt" = statement_timestamp(),
    "updatedAt" = statement_timestamp()${isSentAgain ? SEND_AGAIN : ''}
    WHERE (n."count", n."detail") IS DISTINCT FROM (excluded."count", excluded."detail")`;
}

/** If there is something new to report, sends the notice again and marks it as unread. */
const SEND_AGAIN = `,
    "dueAt" = CASE WHEN excluded."count" > n."count" THEN statement_timestamp() ELSE n."dueAt" END,
    "readAt" = CASE WHEN excluded."count" > n."count" THEN NULL ELSE n."readAt" END`;

const WEBHOOK_NAME = `substring(w."url" FROM '^[A-Za-z]+://(?:[^/?#@]*@)?([^/?#@]+)')`;

/** Keys may have the same name, so the end of the key is added. */
const API_KEY_NAME = `"name" || ' (…' || "last4" || ')'`;

export const DELIVERIES_EXPIRING = statement(
  'notice-check-deliveries-expiring',
  apply(
    `
      SELECT found."projectId", found."subjectId", coalesce(w."name", ${WEBHOOK_NAME}, c."name", c."type", 'a destination') AS "subject",
        NULL::text AS "detail", found."count"
      FROM (${EXPIRING}) AS found
      LEFT JOIN "Webhook" w ON w."id" = found."subjectId" LEFT JOIN "Connector" c ON c."id" = found."subjectId"
      WHERE coalesce(w."projectId", c."projectId") = found."projectId"`,
  ),
);

/** Payments that aren't final have a lease, and an index covers them. */
export const PAYMENT_UNCERTAIN = statement(
  'notice-check-payment-uncertain',
  apply(
    `
      SELECT "projectId", "projectId" AS "subjectId", 'Payments' AS "subject", NULL::text AS "detail", count(*)::int AS "count"
      FROM "Payment"
      WHERE "leasedUntil" IS NOT NULL AND "status" = 'UNKNOWN'
        AND coalesce("servedAt", "createdAt") <= now() - make_interval(secs => $1)
      GROUP BY "projectId"`,
  ),
);

/**
 * Counts the payments that failed for buyers, no matter which process called the facilitator. Failed payments have an
 * index by project.
 */
export const FACILITATOR_UNREACHABLE = statement(
  'notice-check-facilitator-unreachable',
  apply(
    `
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
  ),
);

export const CREDENTIAL_EXPIRING = statement(
  'notice-check-credential-expiring',
  apply(
    `
      SELECT "projectId", "id" AS "subjectId", coalesce("name", "type") AS "subject", 1 AS "count",
        'The vendor will stop accepting it on ' ||
          to_char("credentialExpiresAt" AT TIME ZONE 'UTC', 'FMMonth FMDD, YYYY') AS "detail"
      FROM "Connector"
      WHERE "isActive" AND "credentialExpiresAt" > now() AND "credentialExpiresAt" <= now() + make_interval(days => $1)`,
  ),
);

export const API_KEY_EXPIRING = statement(
  'notice-check-api-key-expiring',
  apply(
    `
      SELECT "projectId", "id" AS "subjectId", ${API_KEY_NAME} AS "subject", "left"."count",
        'It expires on ' || to_char("expiresAt" AT TIME ZONE 'UTC', 'FMMonth FMDD, YYYY, HH24:MI') || ' UTC' AS "detail"
      FROM "ApiKey" CROSS JOIN LATERAL (
        SELECT CASE WHEN "expiresAt" <= now() + make_interval(days => $2) THEN 2 ELSE 1 END AS "count"
      ) AS "left"
      WHERE "revokedAt" IS NULL AND "expiresAt" > now() AND "expiresAt" <= now() + make_interval(days => $1)
        AND "createdAt" < "expiresAt" - make_interval(days => CASE "left"."count" WHEN 1 THEN $1 ELSE $2 END)`,
    { isSentAgain: true },
  ),
);

/** Nobody needs a message about keys that were created to last only a day. */
export const API_KEY_EXPIRED = statement(
  'notice-check-api-key-expired',
  apply(
    `
      SELECT "projectId", "id" AS "subjectId", ${API_KEY_NAME} AS "subject", NULL::text AS "detail", 1 AS "count"
      FROM "ApiKey"
      WHERE "revokedAt" IS NULL AND "expiresAt" <= now() AND "expiresAt" > now() - make_interval(days => $1)
        AND "createdAt" < "expiresAt" - make_interval(days => $2)`,
  ),
);

/** The failures are recorded by the checks in features/projects/hosts/checks.ts. */
export const HOST_FAILING = statement(
  'notice-check-host-failing',
  apply(
    `
      SELECT c."projectId", c."projectId" AS "subjectId", c."host" AS "subject", NULL::text AS "detail", 1 AS "count"
      FROM "HostClaim" c JOIN "Project" p ON p."id" = c."projectId" AND p."gatewayHost" = c."host"
      WHERE c."failingSince" IS NOT NULL`,
  ),
);

export const VENDOR_SHUTDOWN = statement(
  'notice-check-vendor-shutdown',
  apply(
    `
        SELECT c."projectId", c."id" AS "subjectId", ending.title AS "subject", ending.detail AS "detail", 1 AS "count"
        FROM unnest($1::text[], $2::text[], $3::text[], $4::jsonb[]) AS ending(type, title, detail, moved)
        JOIN "Connector" c ON c."type" = ending.type AND c."isActive"
        WHERE ending.moved IS NULL OR NOT c."config" @> ending.moved`,
  ),
);

import { arrayLiteral } from '../../database/array-literal.ts';
import type { ClaimedDelivery } from '../model/claimed-delivery.ts';
import type { DeliveryOutcome } from '../model/outcome.ts';

/** A connector is paused when its vendor rejects this many deliveries in a row for the same reason. */
export const REJECTIONS_LIMIT = 5;

/** Stored instead of a reason when a delivery succeeds. Resets the count. */
const ACCEPTED = '';
/** Longer than a reason, because some reasons end with what differs: the vendor's message. */
const MAX_KEY_LENGTH = 240;
// IDs, amounts, and times. A code is kept, because it identifies the problem.
const VARYING = /(\b(?:http|code|error)[ :#]*)?[^\s"'()[\]]*\d[^\s"'()[\]]*/gi;

/** Reasons with the same key count as the same reason, no matter which IDs, amounts, and times the vendor quotes. */
export function rejectionKey(statusCode: number | null, reason: string): string {
  const kept = reason.replaceAll(VARYING, (text, code?: string) => (code ? text : '#'));
  return `${statusCode ?? ''} ${kept}`.slice(0, MAX_KEY_LENGTH);
}

/**
 * The key for the vendor's reason for rejecting a delivery, or `ACCEPTED`. Null if the result counts as neither. A
 * rejected manual resend doesn't count, because someone is watching and may resend the same event several times.
 */
export function rejectionOf(
  { connector, event, trigger }: ClaimedDelivery,
  { kind, reason }: { kind: string; reason?: string },
  statusCode: number | null,
): string | null {
  if (connector === null || event.test) return null;
  if (kind === 'delivered') return ACCEPTED;
  return kind === 'drop' && trigger !== 'MANUAL' ? rejectionKey(statusCode, reason ?? '') : null;
}

export type PausedConnector = { id: string; projectId: string; reason: string };

/** One connector's run of identical results at the end of a batch. */
type Run = { id: string; secretConfig: string; key: string; reason: string; length: number; isWhole: boolean };

/** Each connector's run in a batch. */
function runsOf(outcomes: readonly DeliveryOutcome[]): Run[] {
  const counting = outcomes.filter(({ rejection }) => rejection !== null);
  return [...Map.groupBy(counting, ({ delivery }) => delivery.destination).values()].map((group) => {
    const last = group.at(-1)!;
    const { id, secretConfig } = last.delivery.connector!;
    const before = group.findLastIndex(({ rejection }) => rejection !== last.rejection);
    const reason = `The last ${REJECTIONS_LIMIT} deliveries were rejected for the same reason: ${last.reason}`;
    const length = last.rejection === ACCEPTED ? 0 : group.length - 1 - before;
    return { id, secretConfig, key: last.rejection!, reason, length, isWhole: before === -1 };
  });
}

/** The values for `countRejections`, in the order of its parameters. */
export function rejectionValues(outcomes: readonly DeliveryOutcome[]) {
  const runs = runsOf(outcomes);
  const ofRuns = (pick: (run: Run) => string | number) => arrayLiteral(runs.map(pick));
  return [
    ofRuns(({ id }) => id),
    ofRuns(({ secretConfig }) => secretConfig),
    ofRuns(({ key }) => key),
    ofRuns(({ reason }) => reason),
    ofRuns(({ length }) => length),
    ofRuns(({ isWhole }) => String(isWhole)),
  ] as const;
}

/**
 * Counts rejections within the statement that records the deliveries, so each rejection counts once across all
 * processes. These are queries in a WITH clause, after `updated`. `noted` lists the connectors that were changed,
 * including those that are now paused. Deliveries sent with a config that has since been replaced don't count.
 *
 * @param first the number of the first of six parameters.
 */
export const countRejections = (first: number) => `
  run AS (
    SELECT * FROM unnest(
      $${first}::text[], $${first + 1}::text[], $${first + 2}::text[], $${first + 3}::text[], $${first + 4}::int[],
      $${first + 5}::boolean[]
    ) AS run(connector, config, key, why, length, whole)
  ),
  counted AS (
    SELECT
      c."id", nullif(run.key, '${ACCEPTED}') AS key, run.why,
      run.length + CASE WHEN run.whole AND c."rejection" = run.key THEN c."rejectionCount" ELSE 0 END AS count,
      CASE WHEN run.whole AND c."rejection" = run.key THEN c."rejectedSince" ELSE now() END AS since
    FROM run JOIN "Connector" c ON c."id" = run.connector
    WHERE c."secretConfig" = run.config AND c."pausedAt" IS NULL AND (run.key <> '${ACCEPTED}' OR c."rejection" IS NOT NULL)
    ORDER BY c."id" FOR NO KEY UPDATE OF c
  ),
  noted AS (
    UPDATE "Connector" c SET
      "rejection" = CASE WHEN count < ${REJECTIONS_LIMIT} THEN key END,
      "rejectionCount" = CASE WHEN count < ${REJECTIONS_LIMIT} THEN count ELSE 0 END,
      "rejectedSince" = CASE WHEN count < ${REJECTIONS_LIMIT} AND key IS NOT NULL THEN since END,
      "pausedReason" = CASE WHEN count >= ${REJECTIONS_LIMIT} THEN why END,
      "pausedAt" = CASE WHEN count >= ${REJECTIONS_LIMIT} THEN now() END,
      "failingSince" = CASE WHEN count >= ${REJECTIONS_LIMIT} THEN coalesce(c."failingSince", since) ELSE c."failingSince" END,
      "updatedAt" = CASE WHEN count >= ${REJECTIONS_LIMIT} THEN now() ELSE c."updatedAt" END
    FROM counted WHERE c."id" = counted."id" AND EXISTS (SELECT FROM updated)
    RETURNING c."id", c."projectId", c."pausedReason"
  )`;

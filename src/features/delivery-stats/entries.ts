/**
 * SQL that counts deliveries. An entry is a row with a `start`, a response time (`ms`, or null), how many `responses` took
 * that long, and how many deliveries `succeeded`, `failed`, were `skipped`, and were `retried`. Adding up entries gives the
 * same result no matter how deliveries are divided among them.
 */
const SUMS = ['responses', 'succeeded', 'failed', 'skipped', 'retried']
  .map((column) => `sum(${column})::int AS ${column}`)
  .join(', ');

/** The entries from the rollups `r` that match the condition, subtracted if the sign is `-`. */
export const rollupEntries = (condition: string, sign: '' | '-' = '') => `
  SELECT r."start", NULL::int AS ms, 0 AS responses, ${sign}r."succeededCount" AS succeeded, ${sign}r."failedCount" AS failed,
    ${sign}r."skippedCount" AS skipped, ${sign}r."retriedCount" AS retried
  FROM "DeliveryRollup" r WHERE ${condition}
  UNION ALL
  SELECT r."start", response.ms, ${sign}response.count, 0, 0, 0, 0
  FROM "DeliveryRollup" r CROSS JOIN unnest(r."responseTimesMs", r."responseCounts") AS response(ms, count)
  WHERE ${condition}`;

/** The entries for finished deliveries, from a table or query. A delivery counts toward the time when it finished. */
export const deliveryEntries = (start: string, from: string) => `
  SELECT ${start} AS "start", d."responseTimeMs" AS ms, count(d."responseTimeMs")::int AS responses,
    count(*) FILTER (WHERE d."outcome" = 'SUCCEEDED')::int AS succeeded,
    count(*) FILTER (WHERE d."outcome" = 'FAILED')::int AS failed,
    count(*) FILTER (WHERE d."outcome" = 'SKIPPED')::int AS skipped,
    count(*) FILTER (WHERE d."attemptCount" > 1)::int AS retried
  FROM ${from} GROUP BY 1, 2`;

/** Adds up entries by start and response time. `groups` contains the GROUP BY items. */
export const addEntries = (entries: string, start: string, groups: string) => `
  SELECT ${start} AS "start", ms, ${SUMS} FROM (${entries}) AS entry GROUP BY ${groups}`;

/** Replaces a project's ($1) rollup with the sum of the entries. There must be at least one. */
export const writeRollup = (interval: 'HOUR' | 'DAY', entries: string) => `
  INSERT INTO "DeliveryRollup" (
    "projectId", "interval", "start", "succeededCount", "failedCount", "skippedCount", "retriedCount", "responseTimesMs",
    "responseCounts"
  )
  SELECT $1, '${interval}', "start", sum(succeeded), sum(failed), sum(skipped), sum(retried),
    coalesce(array_agg(ms ORDER BY ms) FILTER (WHERE responses > 0), '{}'),
    coalesce(array_agg(responses ORDER BY ms) FILTER (WHERE responses > 0), '{}')
  FROM (${addEntries(entries, '"start"', '"start", ms')}) AS added GROUP BY "start"
  ON CONFLICT ("projectId", "interval", "start") DO UPDATE SET
    "succeededCount" = EXCLUDED."succeededCount", "failedCount" = EXCLUDED."failedCount",
    "skippedCount" = EXCLUDED."skippedCount", "retriedCount" = EXCLUDED."retriedCount",
    "responseTimesMs" = EXCLUDED."responseTimesMs", "responseCounts" = EXCLUDED."responseCounts"`;

/**
 * The statements that share slots and turns among processes. Slots and turns are rows in the rate limiter's table.
 * Losing a row in a database crash is harmless, so commits don't have to reach the disk. A row is locked while it is
 * checked, so no slot or turn is handed out twice, no matter how many processes ask at the same time.
 */

const WITHOUT_WAITING = `set_config('synchronous_commit', 'off', true)`;

/** The key of a destination's last slot. */
export const slotKeyOf = (id: string) => `delivery:${id}`;
/** The key of the turn of a destination whose requests must not overlap. */
export const turnKeyOf = (id: string) => `delivery-turn:${id}`;

/**
 * Reserves slots. Parameters: $1 the key, $2 the interval between slots in seconds, $3 the number of slots, and $4 how
 * many seconds ahead the first of them may be.
 */
export const RESERVE_SLOTS = `
  INSERT INTO "RateLimit" AS stored ("key", "arrivesAt")
  SELECT $1, now() + make_interval(secs => $2::float8 * ($3::int - 1)) FROM ${WITHOUT_WAITING}
  ON CONFLICT ("key") DO UPDATE
    SET "arrivesAt" = greatest(stored."arrivesAt" + make_interval(secs => $2), now()) + make_interval(secs => $2 * ($3 - 1))
    WHERE stored."arrivesAt" + make_interval(secs => $2) <= now() + make_interval(secs => $4)
  RETURNING extract(epoch FROM stored."arrivesAt" - now())::float8 AS "lastSlot"`;

/** Gives back a slot. Parameters: $1 the key, and $2 the interval between slots in seconds. */
export const RETURN_SLOT = `
  UPDATE "RateLimit" SET "arrivesAt" = "arrivesAt" - make_interval(secs => $2)
  FROM ${WITHOUT_WAITING} WHERE "key" = $1`;

/** Reads the slots and turns of destinations. Parameters: $1 the IDs, $2 the slots' keys, and $3 the turns' keys. */
export const READ_SLOTS = `
  SELECT asked.id, destination."maxPerSecond",
    extract(epoch FROM slot."arrivesAt" - now())::float8 AS "lastSlot",
    extract(epoch FROM turn."arrivesAt" - now())::float8 AS "turnEnd"
  FROM unnest($1::text[], $2::text[], $3::text[]) AS asked(id, slot, turn)
  LEFT JOIN LATERAL (
    SELECT "maxPerSecond" FROM "Webhook" WHERE "id" = asked.id
    UNION ALL SELECT "maxPerSecond" FROM "Connector" WHERE "id" = asked.id
    LIMIT 1
  ) AS destination ON true
  LEFT JOIN "RateLimit" slot ON slot."key" = asked.slot
  LEFT JOIN "RateLimit" turn ON turn."key" = asked.turn`;

/** Claims the turn unless another process holds it. $1 is the key, and $2 is the turn's maximum duration in seconds. */
export const TAKE_TURN = `
  INSERT INTO "RateLimit" AS stored ("key", "arrivesAt")
  SELECT $1, now() + make_interval(secs => $2) FROM ${WITHOUT_WAITING}
  ON CONFLICT ("key") DO UPDATE SET "arrivesAt" = EXCLUDED."arrivesAt" WHERE stored."arrivesAt" <= now()
  RETURNING "arrivesAt"::text AS "endsAt"`;

/**
 * Ends a turn. Parameters: $1 the key, and $2 when the turn would have expired, in case another process already has the
 * next one.
 */
export const END_TURN = `DELETE FROM "RateLimit" WHERE "key" = $1 AND "arrivesAt" = $2::timestamptz`;

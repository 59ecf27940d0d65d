/**
 * The statements that share vendors' blocks among processes. Like a slot or a turn, a block is a row in the rate
 * limiter's table, with the time when a request may be tried. If nothing is sent to the vendor for a while after that,
 * the row is deleted with the expired counters.
 */

const KEY = (type: string) => `'delivery-block:' || ${type}`;

/** The seconds until a request may be tried, negative if that time has passed; null without a block. */
export const blockedSecondsOf = (type: string) => `
  (SELECT extract(epoch FROM block."arrivesAt" - now())::float8 FROM "RateLimit" block WHERE block."key" = ${KEY(type)})`;

/** Starts or prolongs a block. Parameters: $1 the connector type, and $2 the seconds from now. */
export const BLOCK = `
  INSERT INTO "RateLimit" AS stored ("key", "arrivesAt") VALUES (${KEY('$1::text')}, now() + make_interval(secs => $2))
  ON CONFLICT ("key") DO UPDATE SET "arrivesAt" = greatest(stored."arrivesAt", EXCLUDED."arrivesAt")`;

/**
 * Claims the one request that may be tried when a block's time has passed. Others wait until its result is known, or
 * for $2 seconds. $1 is the connector type.
 */
export const TAKE_TRIAL = `
  INSERT INTO "RateLimit" AS stored ("key", "arrivesAt") VALUES (${KEY('$1::text')}, now() + make_interval(secs => $2))
  ON CONFLICT ("key") DO UPDATE SET "arrivesAt" = EXCLUDED."arrivesAt" WHERE stored."arrivesAt" <= now()`;

/** Ends a block. $1 is the connector type. */
export const UNBLOCK = `DELETE FROM "RateLimit" WHERE "key" = ${KEY('$1::text')}`;

import type { Queryable } from './client.ts';
import { IDENTITY } from './identity.ts';
import { runStatement, statement, statements } from './statement.ts';

/**
 * Why this database must not send anything:
 * - `copied`: its data was copied from another database, for example, with `pg_restore`
 * - `recovered`: its server was recovered to a point in time
 * - `requested`: an operator asked for it
 */
export type HoldReason = 'copied' | 'recovered' | 'requested';

/** Where the data is now. */
type Place = {
  /** The cluster, the database, and the table. A restored dump has another table, even in the same database. */
  identity: string;
  /** The cluster's timeline. */
  timeline: number;
  /** Whether the server was started to recover to a certain point. Standbys and their promotion have no such target. */
  hasTarget: boolean;
};

/** Where the data was when it was last adopted, or before the last failover. */
type Known = Pick<Place, 'identity' | 'timeline'> & { isRequested: boolean };

/** The server doesn't say where the data is, so copies can't be recognized. */
const UNKNOWN: Place = { identity: 'unknown', timeline: 0, hasTarget: false };
/** Every role may call these functions, unless the server's administrator or provider has restricted them. */
const RESTRICTED: ReadonlySet<string | undefined> = new Set(['42501', '0A000']);

// A promoted server's next checkpoint can take minutes. Until then, its timeline is only in the record of its recovery.
const PLACE = statement(
  'installation-place',
  `
  SELECT ${IDENTITY} || '/' || '"Installation"'::regclass::oid AS "identity",
    greatest(checkpoint.timeline_id, recovery.min_recovery_end_timeline) AS "timeline",
    EXISTS (SELECT FROM pg_settings WHERE "setting" <> '' AND "name" IN ('recovery_target', 'recovery_target_lsn',
      'recovery_target_name', 'recovery_target_time', 'recovery_target_xid')) AS "hasTarget"
  FROM pg_control_checkpoint() checkpoint, pg_control_recovery() recovery`,
);

const REPLACE = `DO UPDATE SET "identity" = excluded."identity", "timeline" = excluded."timeline"`;

/** What to do if a place is already recorded. */
const ON_CONFLICT = { keep: 'DO NOTHING', replace: REPLACE, adopt: `${REPLACE}, "adoptedAt" = now(), "heldAt" = NULL` };

const RECORD = statements(
  'installation-record',
  ['keep', 'replace', 'adopt'],
  (onConflict) =>
    `INSERT INTO "Installation" ("identity", "timeline") VALUES ($1, $2) ON CONFLICT ("id") ${ON_CONFLICT[onConflict]}`,
);

/** Returns why this database must not send anything, or undefined if it may. */
export async function readHold(db: Queryable): Promise<HoldReason | undefined> {
  const place = await readPlace(db);
  return compare(await readKnown(db), place);
}

/**
 * Like `readHold`, but the first call ever records where the data is, and later ones follow the timeline: a failover is
 * no reason for a hold.
 */
export async function followHold(db: Queryable): Promise<HoldReason | undefined> {
  const place = await readPlace(db);
  const known = await readKnown(db);
  const reason = compare(known, place);
  const isOutdated = known?.identity !== place.identity || known.timeline !== place.timeline;
  if (!reason && isOutdated && place !== UNKNOWN) await record(db, place, 'replace');
  return reason;
}

function compare(known: Known | undefined, place: Place): HoldReason | undefined {
  if (!known) return undefined;
  if (known.isRequested) return 'requested';
  if (known.identity === UNKNOWN.identity || place === UNKNOWN) return undefined;
  if (known.identity !== place.identity) return 'copied';
  return place.hasTarget && known.timeline !== place.timeline ? 'recovered' : undefined;
}

const HOLD = statement('installation-hold', `UPDATE "Installation" SET "heldAt" = now()`);

/** Stops everything that is sent, until `adopt`. */
export async function hold(db: Queryable): Promise<void> {
  await record(db, await readPlace(db), 'keep');
  await runStatement(db, HOLD());
}

/** Records that the data belongs to this database, which may send again. */
export async function adopt(db: Queryable): Promise<void> {
  await record(db, await readPlace(db), 'adopt');
}

const READ_KNOWN = statement(
  'installation-read',
  `SELECT "identity", "timeline", "heldAt" IS NOT NULL AS "isRequested" FROM "Installation"`,
);

async function readKnown(db: Queryable): Promise<Known | undefined> {
  const { rows } = await runStatement<Known>(db, READ_KNOWN());
  return rows[0];
}

async function readPlace(db: Queryable): Promise<Place> {
  try {
    return (await runStatement<Place>(db, PLACE())).rows[0]!;
  } catch (error) {
    if (RESTRICTED.has((error as { code?: string }).code)) return UNKNOWN;
    throw error;
  }
}

async function record(
  db: Queryable,
  { identity, timeline }: Place,
  onConflict: keyof typeof ON_CONFLICT,
): Promise<void> {
  await runStatement(db, RECORD[onConflict](identity, timeline));
}

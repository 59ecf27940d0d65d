import type pg from 'pg';
import type { Logger } from 'pino';
import { runStatement, statement } from '../database/statement.ts';

/** What to count, by name. The values must be serializable as JSON. */
export type Counts = Readonly<Record<string, () => Promise<unknown>>>;

/** A new snapshot is taken once the last one is this old. */
const FRESH_SECONDS = 10;
/**
 * A count that takes longer than this has failed, or its process has stopped. Must be longer than any statement can
 * take.
 */
const CLAIM_SECONDS = 20;
/** Older snapshots would hide the fact that counting fails. */
const MAX_AGE_SECONDS = 60;
/** How long a slow count may delay the others. */
const WAIT_MILLISECONDS = 2_000;

const IS_DUE = `s."claimedAt" <= statement_timestamp() - make_interval(
  secs => CASE WHEN s."takenAt" = s."claimedAt" THEN ${FRESH_SECONDS} ELSE ${CLAIM_SECONDS} END)`;

const LOAD = statement(
  'metric-snapshots-read',
  `
  SELECT s."name", s."value", ${IS_DUE} AS "isDue",
    coalesce(s."takenAt" > statement_timestamp() - make_interval(secs => ${MAX_AGE_SECONDS}), false) AS "isUsable"
  FROM "MetricSnapshot" s WHERE s."name" = ANY ($1)`,
);

/**
 * Names are claimed in a fixed order so that two processes can't wait for each other. Returns the names that no other
 * process has claimed.
 */
const CLAIM = statement(
  'metric-snapshots-claim',
  `
  INSERT INTO "MetricSnapshot" AS s ("name") SELECT unnest($1::text[]) ORDER BY 1
  ON CONFLICT ("name") DO UPDATE SET "claimedAt" = statement_timestamp() WHERE ${IS_DUE}
  RETURNING s."name", s."claimedAt"`,
);

const STORE = statement(
  'metric-snapshots-write',
  `
  UPDATE "MetricSnapshot" SET "takenAt" = "claimedAt", "value" = $3::json WHERE "name" = $1 AND "claimedAt" = $2`,
);

type Snapshot = { name: string; value: unknown; isDue: boolean; isUsable: boolean };
type Claim = { name: string; claimedAt: Date };

/**
 * Runs the counts that are the same for the whole service. Only one process at a time runs each count, and the others
 * share its result.
 */
export function createSnapshots({ pool, log, counts }: { pool: pg.Pool; log: Logger; counts: Counts }) {
  const names = Object.keys(counts);

  async function load(): Promise<Map<string, Snapshot>> {
    const { rows } = await runStatement<Snapshot>(pool, LOAD(names));
    return new Map(rows.map((row) => [row.name, row]));
  }

  async function take({ name, claimedAt }: Claim): Promise<void> {
    try {
      await runStatement(pool, STORE(name, claimedAt, JSON.stringify(await counts[name]!())));
    } catch (error) {
      log.warn({ err: error, count: name }, 'could not collect a metric; the next process will retry');
    }
  }

  return {
    /**
     * The values that aren't too old, by name. Counts those that are due, unless another process is doing so.
     *
     * @throws the database's error if the stored values can't be read
     */
    async read(): Promise<Map<string, unknown>> {
      let snapshots = await load();
      const due = names.filter((name) => snapshots.get(name)?.isDue ?? true);
      const claims = due.length > 0 ? (await runStatement<Claim>(pool, CLAIM(due))).rows : [];
      if (claims.length > 0) {
        await within(WAIT_MILLISECONDS, Promise.all(claims.map(take)));
        snapshots = await load();
      }
      return new Map([...snapshots].flatMap(([name, { value, isUsable }]) => (isUsable ? [[name, value]] : [])));
    },
  };
}

/** Resolves to undefined if the promise takes longer. */
export async function within<T>(milliseconds: number, promise: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, milliseconds);
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { QUEUE_POOL_SIZE, type Queryable } from '../../database/client.ts';
import { preparedStatement, runStatement } from '../../database/statement.ts';
import { createFairQueue } from '../../limits/fair-queue.ts';
import { createLru } from '../../lru.ts';
import type { Job } from '../send/jobs.ts';
import { burstSeconds, intervalOf, type Pace, paceOfJob } from '../send/pace.ts';

/** How far ahead a process reserves slots. */
const HORIZON_SECONDS = 0.25;
/** How many destinations' slots are reserved at the same time. Claims and results need the other connections. */
const MOST_AT_ONCE = QUEUE_POOL_SIZE / 2;
const MAX_REMEMBERED = 5_000;
/** A destination without deliveries for this long is forgotten, because it may have been deleted. */
const FORGET_MILLISECONDS = 10 * 60_000;

// A destination's last slot is a row in the rate limiter's table. Losing a row in a database crash is harmless, so
// commits don't have to reach the disk. A row is locked while it is checked, so no slot is handed out twice, no matter
// how many processes ask at the same time.
const WITHOUT_WAITING = `set_config('synchronous_commit', 'off', true)`;
const SLOT_KEY = (id: string) => `'delivery:' || ${id}`;
/** Where processes of the last release store until when they keep a destination to themselves. */
const OLD_RESERVATION_KEY = (id: string) => `'delivery-turn:' || ${id}`;

/**
 * Reserves slots. Parameters: $1 the destination, $2 the interval between slots in seconds, $3 the number of slots, $4
 * how many seconds ahead the first of them may be, and $5 how many seconds to keep the destination to itself, or 0.
 */
const RESERVE = preparedStatement(
  'delivery_reserve',
  `
  INSERT INTO "RateLimit" AS stored ("key", "arrivesAt")
  SELECT ${SLOT_KEY('$1::text')}, now() + make_interval(secs => $2::float8 * ($3::int - 1) + $5::float8) FROM ${WITHOUT_WAITING}
  WHERE $5 = 0 OR NOT EXISTS (
    SELECT FROM "RateLimit" WHERE "key" = ${OLD_RESERVATION_KEY('$1')} AND "arrivesAt" > now()
  )
  ON CONFLICT ("key") DO UPDATE
    SET "arrivesAt" = greatest(stored."arrivesAt" + make_interval(secs => $2), now()) + make_interval(secs => $2 * ($3 - 1) + $5)
    WHERE stored."arrivesAt" + make_interval(secs => $2) <= now() + make_interval(secs => $4)
  RETURNING extract(epoch FROM "arrivesAt" - now())::float8 AS "lastSlot", "arrivesAt"::text AS "storedAs"`,
);

/**
 * Moves the last slot back. Parameters: $1 the destination, $2 by how many seconds, and $3 the last slot as this process
 * stored it, in case another process has reserved the destination since then; null to move any slot.
 */
const MOVE_BACK = preparedStatement(
  'delivery_move_slot',
  `
  UPDATE "RateLimit" SET "arrivesAt" = "arrivesAt" - make_interval(secs => $2)
  FROM ${WITHOUT_WAITING} WHERE "key" = ${SLOT_KEY('$1::text')} AND ($3::timestamptz IS NULL OR "arrivesAt" = $3)`,
);

/** Reads the last slots of the destinations in $1. */
const READ = preparedStatement(
  'delivery_read_slots',
  `
  SELECT asked.id, destination."maxPerSecond", extract(epoch FROM slot."arrivesAt" - now())::float8 AS "lastSlot"
  FROM unnest($1::text[]) AS asked(id)
  LEFT JOIN LATERAL (
    SELECT "maxPerSecond" FROM "Webhook" WHERE "id" = asked.id
    UNION ALL SELECT "maxPerSecond" FROM "Connector" WHERE "id" = asked.id
    LIMIT 1
  ) AS destination ON true
  CROSS JOIN LATERAL (
    SELECT max("arrivesAt") AS "arrivesAt" FROM "RateLimit"
    WHERE "key" IN (${SLOT_KEY('asked.id')}, ${OLD_RESERVATION_KEY('asked.id')})
  ) AS slot`,
);

/** What this process knows about a destination. `lastSlotAt` is in milliseconds of this process's monotonic clock. */
type Limit = Readonly<{ pace: Pace; lastSlotAt: number }>;

type StoredSlot = { id: string; maxPerSecond: number | null; lastSlot: number | null };

/**
 * Enforces the pace of each destination. Each request has its own slot, and the database hands out the slots (GCRA), so
 * all processes together stay within the pace. The time of the last slot, not counting bursts, is stored, and the next
 * one is an interval later, so a new pace applies immediately.
 *
 * If a destination's requests must not overlap, the last slot is stored as late as the request can end, so there is no
 * other slot until then. It moves back when the request ends. If the process is killed, it is just left there. A process
 * that was suspended for too long can't move back another process's slot.
 */
export function createPacing({ db, log }: { db: Queryable; log: Logger }) {
  // Forgetting a limit only costs a question, because the database hands out the slots.
  const limits = createLru<Limit>(MAX_REMEMBERED);
  /** The destinations that this process keeps to itself: by how long their slots are too late, and how they are stored. */
  const exclusive = new Map<string, { seconds: number; storedAs: string }>();
  const turns = createFairQueue({ perAccount: MOST_AT_ONCE, perProcess: MOST_AT_ONCE });

  return {
    /** How many requests each destination with a limit may get now, and how many deliveries each of them carries. */
    slots(): Map<string, { requests: number; deliveriesPerRequest: number }> {
      const now = performance.now();
      for (const [id, { lastSlotAt }] of [...limits]) if (lastSlotAt < now - FORGET_MILLISECONDS) limits.delete(id);
      const slotsOf = ({ pace }: Limit, id: string) => ({
        requests: freeSlots(id, pace),
        deliveriesPerRequest: pace.deliveriesPerRequest,
      });
      return new Map([...limits].map(([id, limit]) => [id, slotsOf(limit, id)]));
    },

    /** Seconds until the first of these destinations has a free slot again. Those that already have one don't count. */
    reopensInSeconds(ids: readonly string[]): number {
      return Math.min(...ids.map(closedSeconds).filter((seconds) => seconds > 0), Number.POSITIVE_INFINITY);
    },

    forget: (id: string): boolean => limits.delete(id),

    /**
     * Reserves slots for up to `count` requests, or for one if requests must not overlap. Accounts take turns.
     *
     * @param account the destination's account.
     * @returns the number of seconds until each slot, which is always small. Requests that didn't get a slot go back to
     * the queue.
     */
    async reserve(id: string, pace: Pace, count: number, account = ''): Promise<number[]> {
      limits.set(id, { lastSlotAt: performance.now() - intervalOf(pace) * 1000, ...limits.get(id), pace });
      try {
        return await turns.run(account, () => ask(id, pace, count));
      } catch (error) {
        log.warn({ err: error, destination: id }, "couldn't reserve slots within the rate limit; retrying");
        const untilNext = 2 * HORIZON_SECONDS + burstSeconds(pace);
        learn(id, performance.now() + (untilNext - intervalOf(pace)) * 1000);
        return [];
      }
    },

    /**
     * Call this when a request has ended, so that the next one can follow if they must not overlap. If nothing was sent,
     * for example, because there is nothing to send for the event, its slot is given back. Requests that already have
     * later slots keep them, so the next request's slot may be too close to theirs, by up to one interval.
     */
    async end(id: string, pace: Pace, { isUnsent = false }: { isUnsent?: boolean } = {}): Promise<void> {
      const own = exclusive.get(id);
      exclusive.delete(id);
      const seconds = (own?.seconds ?? 0) + (isUnsent ? intervalOf(pace) : 0);
      if (seconds > 0) await moveBack(id, seconds, own?.storedAs);
    },

    /** Ends the requests that must not overlap with others when this process stops. */
    async endAll(): Promise<void> {
      const left = [...exclusive];
      exclusive.clear();
      await Promise.all(left.map(([id, { seconds, storedAs }]) => moveBack(id, seconds, storedAs)));
    },

    /** Reads changes that other processes made to destinations that have no free slot. */
    async refresh(): Promise<void> {
      const closed = new Map([...limits].filter(([id]) => closedSeconds(id) > 0));
      if (closed.size === 0) return;
      try {
        const now = performance.now();
        for (const { id, maxPerSecond, lastSlot } of await read([...closed.keys()])) {
          const limit = closed.get(id)!;
          // If slots were reserved in the meantime, the result is out of date.
          if (limits.get(id) !== limit) continue;
          if (maxPerSecond !== limit.pace.maxPerSecond) limits.delete(id);
          learn(id, now + (lastSlot ?? -intervalOf(limit.pace)) * 1000);
        }
      } catch (error) {
        log.debug({ err: error }, "couldn't read rate limits; the next round will retry");
      }
    },
  };

  /** How many slots lie within the horizon, as far as this process knows. */
  function freeSlots(id: string, pace: Pace): number {
    const { lastSlotAt = 0 } = limits.get(id) ?? {};
    const aheadSeconds = Math.max((lastSlotAt - performance.now()) / 1000 + intervalOf(pace), 0);
    const slots = Math.max(Math.ceil((HORIZON_SECONDS + burstSeconds(pace) - aheadSeconds) * pace.perSecond), 0);
    return pace.exclusiveSeconds === null ? slots : Math.min(slots, 1);
  }

  /** How many seconds until a destination has a free slot, as far as this process knows. */
  function closedSeconds(id: string): number {
    const limit = limits.get(id);
    if (!limit) return 0;
    const { pace, lastSlotAt } = limit;
    const opensAt = lastSlotAt + (intervalOf(pace) - burstSeconds(pace) - HORIZON_SECONDS) * 1000;
    return Math.max((opensAt - performance.now()) / 1000, 0);
  }

  function learn(id: string, lastSlotAt: number): void {
    const limit = limits.get(id);
    if (limit) limits.set(id, { ...limit, lastSlotAt });
  }

  /** Requests slots. If none are free, finds out when the next one will be. */
  async function ask(id: string, pace: Pace, count: number): Promise<number[]> {
    const interval = intervalOf(pace);
    const aheadSeconds = HORIZON_SECONDS + burstSeconds(pace);
    // Other processes ask for slots that far ahead.
    const lateSeconds = pace.exclusiveSeconds === null ? 0 : pace.exclusiveSeconds + aheadSeconds;
    const wanted = Math.min(count, Math.max(freeSlots(id, pace), 1));
    const [reserved] = (await runStatement(db, RESERVE(id, interval, wanted, aheadSeconds, lateSeconds))).rows;
    const lastSlot = reserved?.lastSlot ?? (await read([id]))[0]?.lastSlot ?? 0;
    learn(id, performance.now() + lastSlot * 1000);
    if (!reserved) return [];
    if (lateSeconds > 0) exclusive.set(id, { seconds: lateSeconds, storedAs: reserved.storedAs });
    const first = lastSlot - lateSeconds - (wanted - 1) * interval - burstSeconds(pace);
    return Array.from({ length: wanted }, (_, index) => Math.max(first + index * interval, 0));
  }

  async function moveBack(id: string, seconds: number, storedAs: string | undefined): Promise<void> {
    try {
      await runStatement(db, MOVE_BACK(id, seconds, storedAs ?? null));
      const limit = limits.get(id);
      if (limit) learn(id, limit.lastSlotAt - seconds * 1000);
    } catch (error) {
      const level = storedAs === undefined ? 'debug' : 'warn';
      log[level]({ err: error, destination: id }, "couldn't move back a slot; it will pass");
    }
  }

  async function read(ids: readonly string[]): Promise<StoredSlot[]> {
    return (await runStatement<StoredSlot>(db, READ(ids))).rows;
  }
}

export type JobSlotsOptions = {
  pacing: ReturnType<typeof createPacing>;
  /** Called when a destination whose requests must not overlap may get its next request. */
  onReopened: () => void;
};

/** The maximum time that a job waits before it asks for a slot again, in case one has become free early. */
const MAX_SLEEP_SECONDS = 1;

/** Gets slots for jobs whose destinations have rate limits. Each of a job's requests takes its own slot. */
export function createJobSlots({ pacing, onReopened }: JobSlotsOptions) {
  const slotted = new WeakSet<Job>();
  let isClosed = false;

  async function enter(job: Job, delaySeconds: number | undefined): Promise<boolean> {
    if (delaySeconds === undefined) return false;
    slotted.add(job);
    await sleep(delaySeconds * 1000);
    return true;
  }

  async function end(job: Job, isUnsent: boolean): Promise<void> {
    if (!slotted.delete(job)) return;
    const pace = paceOfJob(job)!;
    await pacing.end(destinationOf(job), pace, { isUnsent });
    if (pace.exclusiveSeconds !== null) onReopened();
  }

  return {
    /**
     * Reserves slots, with one statement per destination.
     *
     * @returns promises that resolve to true when a job's slot arrives, or to false if the job has none.
     */
    reserve(jobs: readonly Job[]): Map<Job, Promise<boolean>> {
      const groups = [...Map.groupBy(jobs, destinationOf)];
      const entries = groups.flatMap(([destination, group]) => {
        const reserved = pacing.reserve(destination, paceOfJob(group[0]!)!, group.length, accountOf(group[0]!));
        return group.map((job, index) => [job, reserved.then((delays) => enter(job, delays[index]))] as const);
      });
      return new Map(entries);
    },

    /** Waits for a slot for the job's next request. Returns false if this process is stopping. */
    async next(job: Job): Promise<boolean> {
      const [destination, pace] = [destinationOf(job), paceOfJob(job)];
      if (!pace) return true;
      await end(job, false);
      while (!isClosed) {
        const [delaySeconds] = await pacing.reserve(destination, pace, 1, accountOf(job));
        if (await enter(job, delaySeconds)) return true;
        await sleep(Math.min(pacing.reopensInSeconds([destination]), MAX_SLEEP_SECONDS) * 1000);
      }
      return false;
    },

    /** Call this when the job has ended. Its last slot is given back if nothing was sent. */
    leave: end,

    /** Stops waiting for more slots. */
    close(): void {
      isClosed = true;
    },
  };
}

const destinationOf = ({ deliveries }: Job) => deliveries[0]!.destination;
const accountOf = ({ deliveries }: Job) => deliveries[0]!.account;

import type { Logger } from 'pino';
import type { Queryable } from '../../database/client.ts';
import type { Pace } from './pace.ts';

/** How far ahead a process reserves slots. */
const HORIZON_SECONDS = 0.25;
/**
 * The longest that a delivery without a slot is put back for. After that it waits for a free slot in the queue, so it
 * doesn't wait any longer if slots are given back or the limit is raised.
 */
const MAX_WAIT_SECONDS = 5;
const MAX_REMEMBERED = 5_000;
/** A destination that gets nothing for this long is forgotten, because it may have been deleted. */
const FORGET_MILLISECONDS = 60_000;

// Losing a counter does no harm, so commits don't have to reach the disk. The row is locked while it is checked, so no
// slot is given out twice, no matter how many processes ask at once.
const RESERVE = `
  INSERT INTO "RateLimit" AS stored ("key", "arrivesAt")
  SELECT $1, now() + make_interval(secs => $2) FROM set_config('synchronous_commit', 'off', true)
  ON CONFLICT ("key") DO UPDATE
    SET "arrivesAt" = greatest(stored."arrivesAt", now()) + make_interval(secs => $2)
    WHERE stored."arrivesAt" <= now() + make_interval(secs => $3)
  RETURNING extract(epoch FROM stored."arrivesAt" - now())::float8 AS ahead`;

const GIVE_BACK = `
  UPDATE "RateLimit" SET "arrivesAt" = "arrivesAt" - make_interval(secs => $2)
  FROM set_config('synchronous_commit', 'off', true) WHERE "key" = $1`;

const READ = `SELECT extract(epoch FROM "arrivesAt" - now())::float8 AS ahead FROM "RateLimit" WHERE "key" = $1`;

/** `arrivesAt` is the last known theoretical arrival time, in milliseconds of this process's monotonic clock. */
type Limit = { pace: Pace; arrivesAt: number };

/**
 * Enforces the pace of each destination. Each request has its own slot, and the database hands out the slots (GCRA), so
 * all processes together keep to the pace. A slot is at its theoretical arrival time, minus the time that a burst takes.
 */
export function createPacing({ db, log }: { db: Queryable; log: Logger }) {
  const limits = new Map<string, Limit>();

  return {
    /** How many deliveries each destination with a limit may get now. */
    slots(): Map<string, number> {
      const now = performance.now();
      for (const [id, { arrivesAt }] of limits) if (arrivesAt < now - FORGET_MILLISECONDS) limits.delete(id);
      return new Map([...limits].map(([id, { pace }]) => [id, freeSlots(id, pace) * pace.deliveriesPerRequest]));
    },

    forget: (id: string): boolean => limits.delete(id),

    /**
     * Reserves slots for requests.
     *
     * @returns `delays`: for each request, the seconds until its slot. Requests after the first `granted` have no slot:
     *   put them back for about that long. `reopensInSeconds`: how long to wait before asking again.
     */
    async reserve(id: string, pace: Pace, count: number) {
      const wanted = Math.min(count, Math.max(freeSlots(id, pace), 1));
      const { isGranted, ahead } = await ask(id, pace, wanted);
      if (limits.size >= MAX_REMEMBERED) limits.clear();
      limits.set(id, { pace, arrivesAt: performance.now() + ahead * 1000 });
      const granted = isGranted ? wanted : 0;
      const nextSlot = ahead - burstSeconds(pace);
      const delays = Array.from({ length: count }, (_, index) => {
        const delay = Math.max(nextSlot + (index - granted) / pace.perSecond, 0);
        return index < granted ? delay : Math.min(delay, MAX_WAIT_SECONDS);
      });
      return { granted, delays, reopensInSeconds: Math.max(nextSlot - HORIZON_SECONDS, 0) };
    },

    /**
     * Gives back a slot that wasn't used, for example, because nothing had to be sent for the event. Requests that
     * already have later slots keep them, so the next request's slot may be too close to theirs, by up to one interval.
     */
    async giveBack(id: string, { perSecond }: Pace): Promise<void> {
      try {
        await db.query({ name: 'delivery_give_back', text: GIVE_BACK, values: [keyOf(id), 1 / perSecond] });
        const limit = limits.get(id);
        if (limit) limit.arrivesAt -= 1000 / perSecond;
      } catch (error) {
        log.debug({ err: error, destination: id }, "couldn't give back a slot");
      }
    },
  };

  /** How many slots lie within the horizon, as far as this process knows. */
  function freeSlots(id: string, pace: Pace): number {
    const aheadSeconds = Math.max((limits.get(id)?.arrivesAt ?? 0) - performance.now(), 0) / 1000;
    return Math.max(Math.ceil((HORIZON_SECONDS + burstSeconds(pace) - aheadSeconds) * pace.perSecond), 0);
  }

  /** Asks for slots. `ahead` is how many seconds the theoretical arrival time is then in the future. */
  async function ask(id: string, pace: Pace, wanted: number): Promise<{ isGranted: boolean; ahead: number }> {
    const key = keyOf(id);
    const most = HORIZON_SECONDS + burstSeconds(pace);
    try {
      const values = [key, wanted / pace.perSecond, most];
      const [slots] = (await db.query<Ahead>({ name: 'delivery_reserve', text: RESERVE, values })).rows;
      if (slots) return { isGranted: true, ahead: slots.ahead };
      const [taken] = (await db.query<Ahead>({ name: 'delivery_reserved', text: READ, values: [key] })).rows;
      return { isGranted: false, ahead: Math.max(taken?.ahead ?? 0, most) };
    } catch (error) {
      log.warn({ err: error, destination: id }, "couldn't reserve slots within the rate limit, retrying");
      return { isGranted: false, ahead: most + HORIZON_SECONDS };
    }
  }
}

type Ahead = { ahead: number };

const keyOf = (id: string) => `delivery:${id}`;

const burstSeconds = ({ burst, perSecond }: Pace) => (burst - 1) / perSecond;

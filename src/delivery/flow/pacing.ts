import type { Logger } from 'pino';
import type { Queryable } from '../../database/client.ts';
import type { Pace } from './pace.ts';
import { READ_SLOTS, RESERVE_SLOTS, RETURN_SLOT, slotKeyOf, turnKeyOf } from './slot-statements.ts';
import { createTurns } from './turns.ts';

/** How far ahead a process reserves slots. */
const HORIZON_SECONDS = 0.25;
const MAX_REMEMBERED = 5_000;
/** A destination without deliveries for this long is forgotten, because it may have been deleted. */
const FORGET_MILLISECONDS = 10 * 60_000;

/**
 * What this process knows about a destination: the time of its last slot, not counting bursts, and the latest time at
 * which its current request's turn can end. Times are in milliseconds of this process's monotonic clock.
 */
type Limit = Readonly<{ pace: Pace; lastSlotAt: number; turnEndsAt: number }>;

type StoredSlot = { id: string; maxPerSecond: number | null; lastSlot: number | null; turnEnd: number | null };

/**
 * Enforces the pace of each destination. Each request has its own slot, and the database hands out the slots (GCRA), so
 * all processes together stay within the pace. The time of the last slot is stored, and the next one is an interval
 * later, so a new pace applies immediately. If a destination's requests must not overlap, a request with a slot also
 * holds the destination's turn until it ends.
 */
export function createPacing({ db, log }: { db: Queryable; log: Logger }) {
  const limits = new Map<string, Limit>();
  const turns = createTurns(db);

  return {
    /** How many requests each destination with a limit may get now, and how many deliveries each of them carries. */
    slots(): Map<string, { requests: number; deliveriesPerRequest: number }> {
      const now = performance.now();
      for (const [id, { lastSlotAt }] of limits) if (lastSlotAt < now - FORGET_MILLISECONDS) limits.delete(id);
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
     * Reserves slots for up to `count` requests.
     *
     * @returns the number of seconds until each slot, which is always small. Requests that didn't get a slot go back to
     * the queue.
     */
    async reserve(id: string, pace: Pace, count: number): Promise<number[]> {
      if (limits.size >= MAX_REMEMBERED && !limits.has(id)) limits.clear();
      const known = limits.get(id) ?? { lastSlotAt: performance.now() - intervalOf(pace) * 1000, turnEndsAt: 0 };
      limits.set(id, { ...known, pace });
      try {
        return pace.turnSeconds === null ? await ask(id, pace, count) : await askInTurn(id, pace, pace.turnSeconds);
      } catch (error) {
        log.warn({ err: error, destination: id }, "couldn't reserve slots within the rate limit; retrying");
        const untilNext = 2 * HORIZON_SECONDS + burstSeconds(pace);
        learn(id, { lastSlotAt: performance.now() + (untilNext - intervalOf(pace)) * 1000 });
        return [];
      }
    },

    /**
     * Gives back a slot that wasn't used, for example, because nothing had to be sent for the event. Requests that
     * already have later slots keep them, so the next request's slot may be too close to theirs, by up to one interval.
     */
    async giveBack(id: string, pace: Pace): Promise<void> {
      try {
        const values = [slotKeyOf(id), intervalOf(pace)];
        await db.query({ name: 'delivery_return_slot', text: RETURN_SLOT, values });
        const limit = limits.get(id);
        if (limit) learn(id, { lastSlotAt: limit.lastSlotAt - intervalOf(pace) * 1000 });
      } catch (error) {
        log.debug({ err: error, destination: id }, "couldn't return a slot");
      }
    },

    /** Ends the turn of a request that has ended. */
    async endTurn(id: string): Promise<void> {
      try {
        await turns.end(id);
      } catch (error) {
        log.warn({ err: error, destination: id }, "couldn't release a turn at a destination; it will expire");
      }
      learn(id, { turnEndsAt: 0 });
    },

    /** Ends all of this process's turns when it stops. */
    endTurns: () =>
      turns
        .endAll()
        .catch((error) =>
          log.warn({ err: error }, "couldn't release this process's turns at its destinations; they will expire"),
        ),

    /** Reads changes that other processes made to destinations that have no free slot. */
    async refresh(): Promise<void> {
      const closed = new Map([...limits].filter(([id]) => closedSeconds(id) > 0));
      if (closed.size === 0) return;
      try {
        const now = performance.now();
        for (const stored of await read([...closed.keys()])) {
          // If slots were reserved in the meantime, the result is out of date.
          if (limits.get(stored.id) === closed.get(stored.id)) update(closed.get(stored.id)!, stored, now);
        }
      } catch (error) {
        log.debug({ err: error }, "couldn't read rate limits; the next round will retry");
      }
    },
  };

  function update({ pace }: Limit, { id, maxPerSecond, lastSlot, turnEnd }: StoredSlot, now: number): void {
    if (maxPerSecond !== pace.maxPerSecond) limits.delete(id);
    const lastSlotAt = now + (lastSlot ?? -intervalOf(pace)) * 1000;
    learn(id, { lastSlotAt, turnEndsAt: now + (turnEnd ?? 0) * 1000 });
  }

  /** How many slots lie within the horizon, as far as this process knows. */
  function freeSlots(id: string, pace: Pace): number {
    const { lastSlotAt = 0, turnEndsAt = 0 } = limits.get(id) ?? {};
    const now = performance.now();
    if (turnEndsAt > now) return 0;
    const aheadSeconds = Math.max((lastSlotAt - now) / 1000 + intervalOf(pace), 0);
    const slots = Math.max(Math.ceil((HORIZON_SECONDS + burstSeconds(pace) - aheadSeconds) * pace.perSecond), 0);
    return pace.turnSeconds === null ? slots : Math.min(slots, 1);
  }

  /** How many seconds until a destination has a free slot, as far as this process knows. */
  function closedSeconds(id: string): number {
    const limit = limits.get(id);
    if (!limit) return 0;
    const { pace, lastSlotAt, turnEndsAt } = limit;
    const opensAt = lastSlotAt + (intervalOf(pace) - burstSeconds(pace) - HORIZON_SECONDS) * 1000;
    return Math.max((Math.max(opensAt, turnEndsAt) - performance.now()) / 1000, 0);
  }

  function learn(id: string, known: Partial<Limit>): void {
    const limit = limits.get(id);
    if (limit) limits.set(id, { ...limit, ...known });
  }

  /** Requests slots. If none are free, finds out when the next one will be. */
  async function ask(id: string, pace: Pace, count: number): Promise<number[]> {
    const interval = intervalOf(pace);
    const wanted = Math.min(count, Math.max(freeSlots(id, pace), 1));
    const values = [slotKeyOf(id), interval, wanted, HORIZON_SECONDS + burstSeconds(pace)];
    const statement = { name: 'delivery_reserve', text: RESERVE_SLOTS, values };
    const last = (await db.query<{ lastSlot: number }>(statement)).rows[0]?.lastSlot;
    const stored = last ?? (await read([id]))[0]?.lastSlot ?? 0;
    learn(id, { lastSlotAt: performance.now() + stored * 1000 });
    if (last === undefined) return [];
    const first = last - (wanted - 1) * interval - burstSeconds(pace);
    return Array.from({ length: wanted }, (_, index) => Math.max(first + index * interval, 0));
  }

  async function askInTurn(id: string, pace: Pace, turnSeconds: number): Promise<number[]> {
    // A turn can begin before its slot, but by no more than the horizon.
    const isOurs = await turns.take(id, turnSeconds + HORIZON_SECONDS);
    const turnEnd = isOurs ? turnSeconds + HORIZON_SECONDS : ((await read([id]))[0]?.turnEnd ?? 0);
    learn(id, { turnEndsAt: performance.now() + turnEnd * 1000 });
    if (!isOurs) return [];
    const delays = await ask(id, pace, 1);
    if (delays.length > 0) return delays;
    await turns.end(id);
    learn(id, { turnEndsAt: 0 });
    return [];
  }

  async function read(ids: readonly string[]): Promise<StoredSlot[]> {
    const values = [ids, ids.map(slotKeyOf), ids.map(turnKeyOf)];
    return (await db.query<StoredSlot>({ name: 'delivery_read_slots', text: READ_SLOTS, values })).rows;
  }
}

const intervalOf = ({ perSecond }: Pace) => 1 / perSecond;

const burstSeconds = ({ burst, perSecond }: Pace) => (burst - 1) / perSecond;

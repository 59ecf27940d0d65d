import type { Logger } from 'pino';
import type { Queryable } from '../../database/client.ts';

/** How far ahead a process reserves slots. */
const HORIZON_SECONDS = 0.25;
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
    WHERE stored."arrivesAt" <= now() + make_interval(secs => ${HORIZON_SECONDS})
  RETURNING extract(epoch FROM stored."arrivesAt" - now())::float8 AS ahead`;

type Limit = { maxPerSecond: number; closedUntil: number };

/**
 * Enforces the `maxPerSecond` of each destination. Each request has its own slot, and the database hands out the slots
 * (GCRA without a burst), so all processes together stay within the limit.
 */
export function createPacing({ db, log }: { db: Queryable; log: Logger }) {
  const limits = new Map<string, Limit>();

  const portion = (maxPerSecond: number) => Math.ceil(maxPerSecond * HORIZON_SECONDS);

  return {
    /** How many deliveries each destination with a limit may get now. */
    slots(): Map<string, number> {
      const now = performance.now();
      for (const [id, { closedUntil }] of limits) if (closedUntil < now - FORGET_MILLISECONDS) limits.delete(id);
      return new Map(
        [...limits].map(([id, { maxPerSecond, closedUntil }]) => [id, closedUntil > now ? 0 : portion(maxPerSecond)]),
      );
    },

    forget: (id: string): boolean => limits.delete(id),

    /**
     * Reserves slots for requests.
     *
     * @returns `delays`: for each request, the seconds until its slot. Requests after the first `granted` have no slot:
     *   put them back for about that long. `reopensInSeconds`: how long to wait before asking again.
     */
    async reserve(id: string, maxPerSecond: number, count: number) {
      const wanted = Math.min(count, portion(maxPerSecond));
      const ahead = await ask(id, wanted / maxPerSecond);
      const granted = ahead === undefined ? 0 : wanted;
      const end = ahead ?? 2 * HORIZON_SECONDS;
      const reopensInSeconds = Math.max(end - HORIZON_SECONDS, 0);
      if (limits.size >= MAX_REMEMBERED) limits.clear();
      limits.set(id, { maxPerSecond, closedUntil: performance.now() + reopensInSeconds * 1000 });
      const delays = Array.from({ length: count }, (_, index) => end + (index - granted) / maxPerSecond);
      return { granted, delays, reopensInSeconds };
    },
  };

  async function ask(id: string, seconds: number): Promise<number | undefined> {
    try {
      const values = [`delivery:${id}`, seconds];
      const { rows } = await db.query<{ ahead: number }>({ name: 'delivery_reserve', text: RESERVE, values });
      return rows[0]?.ahead;
    } catch (error) {
      log.warn({ err: error, destination: id }, "couldn't reserve slots within the rate limit, retrying");
      return undefined;
    }
  }
}

import type pg from 'pg';
import type { Logger } from 'pino';

const SAMPLES = 5;
const MEASURE_EVERY_MILLISECONDS = 60_000;

/**
 * The time of the database without asking it every time: what it said last, and what has passed since by the clock of
 * this process that never steps. Wrong by half of the fastest round trip at most.
 *
 * @throws the driver's error when the first measurement fails; later ones are only logged
 */
export async function openDatabaseClock(pool: Pick<pg.Pool, 'query'>, log: Logger) {
  let zero = await measure();
  const timer = setInterval(async () => {
    try {
      zero = await measure();
    } catch (error) {
      log.debug({ err: error }, 'the time of the database could not be read; trying again');
    }
  }, MEASURE_EVERY_MILLISECONDS).unref();

  /** What the database's clock said when ours stood at 0. */
  async function measure(): Promise<number> {
    let best = { milliseconds: 0, roundTrip: Number.POSITIVE_INFINITY };
    for (let sample = 0; sample < SAMPLES; sample++) {
      const sentAt = performance.now();
      const { rows } = await pool.query<{ now: number }>(
        'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS "now"',
      );
      const receivedAt = performance.now();
      const roundTrip = receivedAt - sentAt;
      if (roundTrip < best.roundTrip) best = { milliseconds: rows[0]!.now - (sentAt + receivedAt) / 2, roundTrip };
    }
    return best.milliseconds;
  }

  return {
    /** Milliseconds since 1970, whole ones. */
    now: () => Math.floor(zero + performance.now()),
    close: () => clearInterval(timer),
  };
}

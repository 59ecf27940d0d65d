import type pg from 'pg';
import type { Logger } from 'pino';
import { runStatement, statement } from './statement.ts';

const SAMPLES = 5;
/**
 * After a failover, the new server's clock may differ. Until every process has measured it again, their times differ
 * too.
 */
const MEASURE_EVERY_MILLISECONDS = 5_000;
/** Smaller differences are no reason for a warning. */
const MAX_OFFSET_SECONDS = 5;
const WARN_EVERY_MILLISECONDS = 60_000;

const READ_CLOCK = statement('clock-read', 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS "now"');

/**
 * The database's time without a query for each call: its last known time plus the time that has passed since then on
 * this process's monotonic clock. The error is at most half the fastest round trip. If this machine's clock differs by
 * more than 5 s, a warning is logged, and repeated every minute.
 *
 * @throws the driver's error if the first measurement fails. Later failures are only logged.
 */
export async function openDatabaseClock(pool: Pick<pg.Pool, 'query'>, log: Logger) {
  let zero = await measure();
  let warnedAt = Number.NEGATIVE_INFINITY;
  warnIfWrong();
  let isClosed = false;
  let timer = measureLater();

  function measureLater(): NodeJS.Timeout {
    return setTimeout(async () => {
      try {
        zero = await measure();
        warnIfWrong();
      } catch (error) {
        log.debug({ err: error }, 'could not read the database time; retrying');
      }
      if (!isClosed) timer = measureLater();
    }, MEASURE_EVERY_MILLISECONDS).unref();
  }

  /** The database's time when our monotonic clock was 0. */
  async function measure(): Promise<number> {
    let best = { milliseconds: 0, roundTrip: Number.POSITIVE_INFINITY };
    for (let sample = 0; sample < SAMPLES; sample++) {
      const sentAt = performance.now();
      const { rows } = await runStatement<{ now: number }>(pool, READ_CLOCK());
      const receivedAt = performance.now();
      const roundTrip = receivedAt - sentAt;
      if (roundTrip < best.roundTrip) best = { milliseconds: rows[0]!.now - (sentAt + receivedAt) / 2, roundTrip };
    }
    return best.milliseconds;
  }

  function offsetSeconds(): number {
    return (Date.now() - (zero + performance.now())) / 1000;
  }

  function warnIfWrong(): void {
    const offset = offsetSeconds();
    const isDue = performance.now() - warnedAt >= WARN_EVERY_MILLISECONDS;
    if (Math.abs(offset) <= MAX_OFFSET_SECONDS || !isDue) return;
    warnedAt = performance.now();
    const which = offset > 0 ? 'ahead of' : 'behind';
    log.warn(
      { offsetSeconds: offset },
      `this machine's clock is ${Math.abs(Math.round(offset))} s ${which} the database's; synchronize both with NTP`,
    );
  }

  return {
    /** How far this machine's clock is ahead of the database's. Negative if it is behind. */
    offsetSeconds,
    /** Whole milliseconds since 1970. */
    now: () => Math.floor(zero + performance.now()),
    close(): void {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

import type { Logger } from 'pino';
import { type Bus, topics } from '../bus/bus.ts';
import type { Database } from '../database/client.ts';
import { followHold, type HoldReason } from '../database/installation.ts';
import { AppError } from '../errors.ts';
import { HOW_TO_RUN } from '../how-to-run.ts';

/** Whether this service may send anything, which it may not on a restored copy of its database. */
export type Hold = {
  /** Checked before anything is sent. It is kept up to date in memory, so checking costs nothing. */
  isOnHold: () => boolean;
  /** What operators need to know, or undefined if the service isn't on hold. */
  explain: () => string | undefined;
  /**
   * Checked before a user's request calls another service with a stored credential.
   *
   * @throws AppError `UNAVAILABLE`.
   */
  requireNoHold: () => void;
  close(): void;
};

/** A hint on the bus comes sooner, and so does a reconnect to the database. */
const CHECK_EVERY_MILLISECONDS = 5_000;

const CAUSES: Readonly<Record<HoldReason, string>> = {
  copied: "This database is a copy of another database, or a new server's copy of the old one's.",
  recovered: 'The database was recovered to a point in time.',
  requested: 'An operator has put this installation on hold.',
};

const WHAT_TO_DO = `Deliveries, payments, and notices wait. If no other service uses this data, run \`${HOW_TO_RUN.tollgate} adopt\`.`;

/**
 * Finds out whether the database is a copy, and keeps checking, because an operator can adopt it at any time.
 *
 * @throws the driver's error if the first check fails. Later failures change nothing.
 */
export async function openHold({ db, bus, log }: { db: Database; bus: Bus; log: Logger }): Promise<Hold> {
  let reason = await followHold(db.pool);
  let isClosed = false;
  if (reason) warn();

  async function check(): Promise<void> {
    const before = reason;
    try {
      reason = await followHold(db.pool);
    } catch (error) {
      log.debug({ err: error }, "couldn't check whether the database is a copy; retrying");
    }
    if (reason === before || isClosed) return;
    if (reason) return warn();
    log.info('the hold has ended; deliveries, payments, and notices resume');
    bus.publish(topics.deliveriesDue);
  }

  function warn(): void {
    log.warn({ reason }, `on hold: ${explain()}`);
  }

  function explain(): string | undefined {
    return reason && `${CAUSES[reason]} ${WHAT_TO_DO}`;
  }

  const timer = setInterval(check, CHECK_EVERY_MILLISECONDS).unref();
  const unsubscribe = bus.subscribe(topics.installation, () => void check());
  return {
    isOnHold: () => reason !== undefined,
    explain,
    requireNoHold(): void {
      if (!reason) return;
      throw new AppError('UNAVAILABLE', {
        detail:
          'This service is on hold, so it doesn’t call other services. An operator must first make sure that no other service uses the same data.',
      });
    },
    close(): void {
      isClosed = true;
      clearInterval(timer);
      unsubscribe();
    },
  };
}

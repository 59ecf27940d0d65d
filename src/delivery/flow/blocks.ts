import type { Logger } from 'pino';
import type { Queryable } from '../../database/client.ts';
import type { ClaimedDelivery, Verdict } from '../model/claimed-delivery.ts';
import type { DeliveryOutcome } from '../model/outcome.ts';
import type { Job } from '../send/jobs.ts';
import { BLOCK, TAKE_TRIAL, UNBLOCK } from './block-statements.ts';

export type BlocksOptions = {
  db: Queryable;
  log: Logger;
  /** Returns the time of a monotonic clock, in milliseconds. */
  now?: () => number;
};

/** How long the result of a trial may take. After that, another request may be tried. */
const TRIAL_SECONDS = 20;
/** Spreads out the deliveries that waited for a block to end. Otherwise, they could cause another one. */
const JITTER = 0.2;

/** `isStored`: whether this process has read the block from the database. Times are in milliseconds. */
type Block = { closedUntil: number; isStored: boolean };

/**
 * Blocks of this service's IP address by connectors' vendors. Nothing is sent to any connector of the type until the
 * block's time has passed, not even manual deliveries, because each request could prolong the block. Then all processes
 * together send a single request, the trial. If the vendor lets it through, the block is over. Otherwise, the next trial
 * follows when the new block's time has passed.
 *
 * Each process keeps the blocks in memory and shares them through the database. It reads them with every claim.
 */
export function createBlocks({ db, log, now = () => performance.now() }: BlocksOptions) {
  const blocks = new Map<string, Block>();
  const trials = new WeakSet<Job>();

  const closedSeconds = (type: string) => Math.max(((blocks.get(type)?.closedUntil ?? 0) - now()) / 1000, 0);

  function wait(type: string): Verdict {
    const afterSeconds = closedSeconds(type) * (1 + JITTER * Math.random());
    return { kind: 'wait', afterSeconds, reason: 'address_blocked' };
  }

  /** @returns whether a row was changed. */
  async function share(type: string, text: string, values: unknown[]): Promise<boolean> {
    try {
      return ((await db.query(text, values)).rowCount ?? 0) > 0;
    } catch (error) {
      log.warn({ err: error, connectorType: type }, "couldn't share a vendor's block with the other processes");
      return false;
    }
  }

  return {
    /** Call this with every claimed delivery. */
    learn({ connector }: Pick<ClaimedDelivery, 'connector'>): void {
      if (!connector) return;
      const { type, blockedSeconds } = connector;
      if (blockedSeconds !== null) {
        blocks.set(type, { closedUntil: now() + blockedSeconds * 1000, isStored: true });
      } else if (blocks.get(type)?.isStored) {
        blocks.delete(type);
      }
    },

    /** The verdict for a job whose vendor is blocking this service. */
    refusalOf(job: Job): Verdict | undefined {
      const type = typeOf(job);
      return type !== undefined && closedSeconds(type) > 0 ? wait(type) : undefined;
    },

    /** Call this last. When a block's time has passed, this lets a single job through. */
    async enter(job: Job): Promise<'go' | Verdict> {
      const type = typeOf(job);
      const block = type === undefined ? undefined : blocks.get(type);
      if (type === undefined || !block) return 'go';
      if (block.closedUntil > now()) return wait(type);
      // The process's other jobs wait from now on, even before the statement has run.
      blocks.set(type, { ...block, closedUntil: now() + TRIAL_SECONDS * 1000 });
      if (!(await share(type, TAKE_TRIAL, [type, TRIAL_SECONDS]))) return wait(type);
      trials.add(job);
      return 'go';
    },

    /** Call this with a job's outcomes when it is finished. Resolves when other processes can see the change, if any. */
    async leave(job: Job, outcomes: readonly DeliveryOutcome[]): Promise<void> {
      const type = typeOf(job);
      if (type === undefined) return;
      const waits = outcomes.flatMap(({ health }) => (health?.kind === 'blocked' ? health.afterSeconds : []));
      if (waits.length > 0) {
        const afterSeconds = Math.max(...waits);
        log.warn({ connectorType: type, afterSeconds }, "a vendor is blocking this service's IP address");
        const closedUntil = Math.max(blocks.get(type)?.closedUntil ?? 0, now() + afterSeconds * 1000);
        blocks.set(type, { closedUntil, isStored: false });
        await share(type, BLOCK, [type, afterSeconds]);
      } else if (trials.has(job) && outcomes.some(hasResponse)) {
        // Even an error shows that the vendor lets requests through.
        log.info({ connectorType: type }, "a vendor no longer blocks this service's IP address");
        blocks.delete(type);
        await share(type, UNBLOCK, [type]);
      }
    },
  };
}

const typeOf = ({ deliveries }: Job) => deliveries[0]!.connector?.type;
const hasResponse = ({ attempts }: DeliveryOutcome) => attempts.some(({ statusCode }) => statusCode !== null);

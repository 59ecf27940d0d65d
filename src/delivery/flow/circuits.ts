import type { Logger } from 'pino';
import type { Queryable } from '../../database/client.ts';
import { runStatement, type Statement, statement } from '../../database/statement.ts';
import { createLru } from '../../lru.ts';
import type { ClaimedDelivery, Verdict } from '../model/claimed-delivery.ts';
import type { DeliveryOutcome } from '../model/outcome.ts';
import type { Job } from '../send/jobs.ts';

const MAX_REMEMBERED = 5_000;
/** A destination without deliveries for this long is forgotten, because it may have been deleted. */
const FORGET_MILLISECONDS = 10 * 60_000;

/** How many failures in a row open the circuit. */
const FAILURES_TO_OPEN = 5;
const MIN_OPEN_SECONDS = 5;
const MAX_OPEN_SECONDS = 60;
/** Manual deliveries are sent even while the circuit is open, up to this many at the same time. */
const MANUAL_SLOTS = 4;

type Circuit = { failures: number; openSeconds: number; openUntil: number };

/**
 * A circuit breaker per destination. It opens after several failures in a row. While it is open, deliveries stay in the
 * queue and cost nothing. Then it becomes half open and lets one delivery through. A success closes it; a failure opens
 * it for twice as long, up to a minute. Each process has its own breaker and shares its state through the destination's
 * `circuitOpenUntil`.
 *
 * @param now returns the time of a monotonic clock, in milliseconds.
 */
export function createCircuits(now: () => number = () => performance.now()) {
  // Forgetting a circuit only costs a few attempts until it opens again.
  const circuits = createLru<Circuit>(MAX_REMEMBERED);

  const isBroken = (circuit: Circuit | undefined): circuit is Circuit => (circuit?.failures ?? 0) >= FAILURES_TO_OPEN;

  function circuitOf(id: string): Circuit {
    const known = circuits.get(id);
    if (known) return known;
    const circuit = { failures: 0, openSeconds: 0, openUntil: 0 };
    circuits.set(id, circuit);
    return circuit;
  }

  return {
    /** Whether the circuit is open or half open. */
    isBroken: (id: string): boolean => isBroken(circuits.get(id)),

    brokenCount: (): number => [...circuits.values()].filter(isBroken).length,

    /** How many more seconds the circuit stays open; 0 when it is closed. */
    openSeconds(id: string): number {
      const circuit = circuits.get(id);
      return isBroken(circuit) ? Math.max((circuit.openUntil - now()) / 1000, 0) : 0;
    },

    /**
     * The maximum number of deliveries in flight to each broken destination. A negative number allows only manual
     * deliveries, up to that many.
     */
    slots(): Map<string, number> {
      for (const [id, { openUntil }] of [...circuits])
        if (openUntil > 0 && openUntil < now() - FORGET_MILLISECONDS) circuits.delete(id);
      const broken = [...circuits].filter(([, circuit]) => isBroken(circuit));
      return new Map(broken.map(([id, { openUntil }]) => [id, openUntil > now() ? -MANUAL_SLOTS : 1]));
    },

    onHealthy(id: string): void {
      circuits.delete(id);
    },

    onFailure(id: string): void {
      const circuit = circuitOf(id);
      circuit.failures++;
      // Failures of requests that were in flight when the circuit opened don't count.
      if (!isBroken(circuit) || circuit.openUntil > now()) return;
      circuit.openSeconds = Math.min(Math.max(circuit.openSeconds * 2, MIN_OPEN_SECONDS), MAX_OPEN_SECONDS);
      circuit.openUntil = now() + circuit.openSeconds * 1000;
    },

    /** Call this when another process has opened the circuit. */
    learn(id: string, openSeconds: number): void {
      if (openSeconds <= 0) return;
      const circuit = circuitOf(id);
      circuit.failures = Math.max(circuit.failures, FAILURES_TO_OPEN);
      circuit.openUntil = Math.max(circuit.openUntil, now() + Math.min(openSeconds, MAX_OPEN_SECONDS) * 1000);
    },
  };
}

/** A destination is no longer throttled when it may get this many requests at the same time. */
const RECOVERED_SLOTS = 64;

type Limited = Pick<ClaimedDelivery, 'destination' | 'account'>;
/** `since` is when the limited request was made, by the database's clock. The other time is by the monotonic clock. */
type Throttle = { account: string; slots: number; closedUntil: number; since: number };

/**
 * Slows down for destinations that rate limit requests. After a 429, nothing is sent for as long as the destination
 * asked. Then it gets one request at a time, and each success doubles that number until the next 429.
 *
 * @param now returns the time of a monotonic clock, in milliseconds.
 */
export function createThrottles(now: () => number = () => performance.now()) {
  // Not an LRU cache, so that an account with many limited destinations can't push out those of other accounts.
  const throttles = new Map<string, Throttle>();

  /**
   * Forgets a tenth of the destinations of the account that has the most, starting with those whose wait ends first.
   * Accounts with fewer destinations lose none.
   */
  function evictOldest(): void {
    const byAccount = Map.groupBy(throttles, ([, { account }]) => account);
    const most = [...byAccount.values()].reduce((one, other) => (other.length > one.length ? other : one));
    const ending = most.toSorted(([, one], [, other]) => one.closedUntil - other.closedUntil);
    for (const [id] of ending.slice(0, Math.ceil(most.length / 10))) throttles.delete(id);
  }

  return {
    /** How many more seconds to wait before anything is sent to the destination. */
    closedSeconds: (id: string): number => Math.max(((throttles.get(id)?.closedUntil ?? 0) - now()) / 1000, 0),

    /** The maximum number of deliveries in flight to each of these destinations. */
    slots(): Map<string, number> {
      for (const [id, { closedUntil }] of throttles) {
        if (closedUntil < now() - FORGET_MILLISECONDS) throttles.delete(id);
      }
      return new Map([...throttles].map(([id, { slots, closedUntil }]) => [id, closedUntil > now() ? 0 : slots]));
    },

    /** The destinations that get nothing now, each with the time of its limited request. */
    closed: (): Map<string, number> =>
      new Map([...throttles].flatMap(([id, { closedUntil, since }]) => (closedUntil > now() ? [[id, since]] : []))),

    /** Call this when the destination has been changed: it may be at another address or have another limit. */
    forget: (id: string): boolean => throttles.delete(id),

    onLimited({ destination, account }: Limited, afterSeconds: number, since = 0): void {
      const known = throttles.get(destination);
      if (!known && throttles.size >= MAX_REMEMBERED) evictOldest();
      const closedUntil = Math.max(known?.closedUntil ?? 0, now() + afterSeconds * 1000);
      throttles.set(destination, { account, slots: 1, closedUntil, since });
    },

    onHealthy(id: string): void {
      const throttle = throttles.get(id);
      // A success doesn't count if its request was sent before the destination started rate limiting.
      if (!throttle || throttle.closedUntil > now()) return;
      throttle.slots *= 2;
      if (throttle.slots >= RECOVERED_SLOTS) throttles.delete(id);
    },
  };
}

/**
 * A block, as the processes share it: a row in the rate limiter's table, with the time when a request may be tried. If
 * nothing is sent to the vendor for a while after that, the row is deleted with the expired counters.
 */
const BLOCK_KEY = (type: string) => `'delivery-block:' || ${type}`;

/** The seconds until a request may be tried, negative if that time has passed; null without a block. */
export const blockedSecondsOf = (type: string) => `
  (SELECT extract(epoch FROM block."arrivesAt" - now())::float8 FROM "RateLimit" block WHERE block."key" = ${BLOCK_KEY(type)})`;

/** Starts or prolongs a block. Parameters: $1 the connector type, and $2 the seconds from now. */
const BLOCK = statement(
  'vendor-block-start',
  `
  INSERT INTO "RateLimit" AS stored ("key", "arrivesAt") VALUES (${BLOCK_KEY('$1::text')}, now() + make_interval(secs => $2))
  ON CONFLICT ("key") DO UPDATE SET "arrivesAt" = greatest(stored."arrivesAt", EXCLUDED."arrivesAt")`,
);

/**
 * Claims the one request that may be tried when a block's time has passed. Others wait until its result is known, or
 * for $2 seconds. $1 is the connector type.
 */
const TAKE_TRIAL = statement(
  'vendor-block-take-trial',
  `
  INSERT INTO "RateLimit" AS stored ("key", "arrivesAt") VALUES (${BLOCK_KEY('$1::text')}, now() + make_interval(secs => $2))
  ON CONFLICT ("key") DO UPDATE SET "arrivesAt" = EXCLUDED."arrivesAt" WHERE stored."arrivesAt" <= now()`,
);

const FIND_BLOCK = statement('vendor-block-find', `SELECT ${blockedSecondsOf('$1::text')} AS "seconds"`);

/**
 * Whether a vendor blocks this service, as far as is known. A block whose time has passed also counts until a delivery
 * has been tried. Otherwise, someone who keeps testing a connector could keep deliveries from being tried.
 */
export async function isBlocked(db: Queryable, type: string): Promise<boolean> {
  const { rows } = await runStatement<{ seconds: number | null }>(db, FIND_BLOCK(type));
  return rows[0]!.seconds !== null;
}

/** Starts or prolongs a block for all processes. They learn of it with their next claims. */
export async function startBlock(db: Queryable, type: string, seconds: number): Promise<void> {
  await runStatement(db, BLOCK(type, seconds));
}

/** Ends a block. $1 is the connector type. */
const UNBLOCK = statement('vendor-block-end', `DELETE FROM "RateLimit" WHERE "key" = ${BLOCK_KEY('$1::text')}`);

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
  async function share(type: string, change: Statement): Promise<boolean> {
    try {
      return ((await runStatement(db, change)).rowCount ?? 0) > 0;
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
      if (!(await share(type, TAKE_TRIAL(type, TRIAL_SECONDS)))) return wait(type);
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
        await share(type, BLOCK(type, afterSeconds));
      } else if (trials.has(job) && outcomes.some(hasResponse)) {
        // Even an error shows that the vendor lets requests through.
        log.info({ connectorType: type }, "a vendor no longer blocks this service's IP address");
        blocks.delete(type);
        await share(type, UNBLOCK(type));
      }
    },
  };
}

const typeOf = ({ deliveries }: Job) => deliveries[0]!.connector?.type;
const hasResponse = ({ attempts }: DeliveryOutcome) => attempts.some(({ statusCode }) => statusCode !== null);

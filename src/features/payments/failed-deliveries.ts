import type { Queryable } from '../../database/client.ts';
import { AppError } from '../../errors.ts';
import { DAY_SECONDS, type DayUse, recordEachOfDay } from '../../limits/day-limit.ts';
import { largestNetworkOf } from '../../limits/failures-by-network.ts';
import { createLru } from '../../lru.ts';
import type { FanOut } from './steps/fan-out.ts';

/** Up to this many aren't worth a statement. They are counted with the account's next ones. */
const FEW = 6;
const MAX_PER_DAY = 1_000_000;
/** One network can't use up the limit of an account, so it doesn't affect the account's other buyers. */
const MAX_PER_DAY_OF_NETWORK = MAX_PER_DAY / 2;
/** In all accounts together. */
const MAX_PER_DAY_OF_NETWORK_IN_TOTAL = 2 * MAX_PER_DAY;
/** What a network can still use of each account's limit if that, or the network's own limit in total, is used up. */
const ALWAYS_LEFT_OF_NETWORK = 1_000;
/** Many payments can be on their way when the limit is reached. They make the wait longer, but never longer than this. */
const MAX_WAIT_SECONDS = 600;
/** Above these numbers, the oldest are forgotten until their next payment fails. */
const MAX_ACCOUNTS = 10_000;
const MAX_NETWORKS = 50_000;

/** When there is something left of a network's limit, and of what is always left to it. */
type NetworkTimes = { limit: number; always: number };

/**
 * Counts payments that failed by account. A request that an API fails to serve is free, but its payment, with two events,
 * is stored, and each webhook and connector of its project gets a delivery of each event. Without this, anyone could fill
 * the disk. A payment counts once for each of its deliveries, or once if there are none.
 *
 * Buyers can cause such failures in almost any API, at no cost, so once an account's limit is used up, only payments from
 * networks that have caused many of them are rejected. The same applies to a network that has caused too many in all accounts.
 *
 * @param fanOuts the steps whose events such a payment has. @param now milliseconds on a monotonic clock.
 */
export function createFailedDeliveries(db: Queryable, fanOuts: readonly FanOut[], now = () => performance.now()) {
  const accountRefusedUntil = createLru<number>(MAX_ACCOUNTS);
  const totalRefusedUntil = createLru<number>(MAX_NETWORKS);
  const networkRefusedUntil = createLru<NetworkTimes>(MAX_NETWORKS);
  /** What hasn't been counted yet, by account and network. The statements of an account would wait for each other. */
  const pending = createLru<Map<string, number>>(MAX_ACCOUNTS);
  const running = new Map<string, Promise<void>>();

  const accountKey = (account: string) => `failed-deliveries ${account}`;
  const networkKey = (account: string, network: string) => `failed-deliveries ${account} ${network}`;
  const totalKey = (network: string) => `failed-deliveries of network ${network}`;

  async function flush(account: string): Promise<void> {
    for (let counts = pending.get(account); counts && largestOf(counts) > FEW; counts = pending.get(account)) {
      pending.delete(account);
      const { [EVERY_NETWORK]: total, ...networks } = Object.fromEntries(counts);
      const uses: DayUse[] = Object.entries(networks).flatMap(([network, amount]) => [
        { key: networkKey(account, network), limitPerDay: MAX_PER_DAY_OF_NETWORK, amount },
        { key: totalKey(network), limitPerDay: MAX_PER_DAY_OF_NETWORK_IN_TOTAL, amount },
      ]);
      if (total) uses.push({ key: accountKey(account), limitPerDay: MAX_PER_DAY, amount: total });
      const secondsAhead = await recordEachOfDay(db, uses, MAX_WAIT_SECONDS);
      const after = (seconds: number) => now() + seconds * 1000;
      if (total) accountRefusedUntil.set(account, after(secondsAhead.get(accountKey(account))! - DAY_SECONDS));
      for (const network of Object.keys(networks)) {
        const seconds = secondsAhead.get(networkKey(account, network))!;
        const always = after(seconds - (ALWAYS_LEFT_OF_NETWORK / MAX_PER_DAY_OF_NETWORK) * DAY_SECONDS);
        networkRefusedUntil.set(networkKey(account, network), { limit: after(seconds - DAY_SECONDS), always });
        totalRefusedUntil.set(network, after(secondsAhead.get(totalKey(network))! - DAY_SECONDS));
      }
    }
  }

  async function add(projectId: string, network: string): Promise<void> {
    const deliveries = fanOuts.reduce((sum, fanOut) => sum + fanOut.destinationsOf(projectId), 0);
    const account = fanOuts[0]!.accountOf({ projectId });
    const counts = pending.get(account) ?? new Map<string, number>();
    counts.set(network, (counts.get(network) ?? 0) + Math.max(1, deliveries));
    pending.set(account, counts);
    if (largestOf(counts) <= FEW) return;
    const flushed = running.get(account) ?? flush(account).finally(() => running.delete(account));
    running.set(account, flushed);
    // The payment has failed either way.
    await flushed.catch(() => pending.delete(account));
  }

  return {
    /** Call this when a verified payment has failed. Resolves when it is counted, or couldn't be. */
    count: (projectId: string): Promise<void> => add(projectId, EVERY_NETWORK),

    /** Call this with the client address of a payment that has failed, or is about to. */
    countAddress: (projectId: string, address: string): Promise<void> => add(projectId, largestNetworkOf(address)),

    /** @throws AppError `RATE_LIMITED` if payments from this address to this project have to wait. */
    check(projectId: string, address: string): void {
      const account = fanOuts[0]!.accountOf({ projectId });
      const network = largestNetworkOf(address);
      const ofNetwork = networkRefusedUntil.get(networkKey(account, network));
      if (!ofNetwork) return;
      const { limit, always } = ofNetwork;
      const usedUpUntil = Math.max(accountRefusedUntil.get(account) ?? 0, totalRefusedUntil.get(network) ?? 0);
      const until = Math.max(limit, Math.min(always, usedUpUntil));
      const waitMilliseconds = until - now();
      if (waitMilliseconds <= 0) return;
      throw new AppError('RATE_LIMITED', {
        detail:
          "This seller's APIs have failed to serve too many requests from your network. You weren't charged. Wait for the number of seconds in `Retry-After`.",
        retryAfterSeconds: Math.ceil(waitMilliseconds / 1000),
      });
    },
  };
}

/** What counts toward the limit of the account. */
const EVERY_NETWORK = '';

function largestOf(counts: ReadonlyMap<string, number>): number {
  let largest = 0;
  for (const amount of counts.values()) largest = Math.max(largest, amount);
  return largest;
}

/** How many calls of a process a facilitator gets at the same time. As many connections can be open; see `app.ts`. */
const MAX_CALLS = 1024;
/** An account leaves the rest to others, even if its calls are slow. */
const ACCOUNT_SHARE = 3 / 4;
/** How long a turn lasts at most. A call that takes longer continues, but no longer keeps others from their turns. */
const MAX_TURN_MILLISECONDS = 1_000;
/** By how much the number of simultaneous turns grows with each call that isn't rejected. */
const GROWTH = 1 / 2;
const TOO_MANY_REQUESTS = 429;
const PAUSE_MILLISECONDS = 250;
/** A facilitator that asks for a longer pause is tried earlier, because buyers are waiting. */
const MAX_PAUSE_MILLISECONDS = 2_000;

/** The call wasn't sent, because its turn didn't come in time. */
export class TurnMissed extends Error {
  override readonly name = 'TurnMissed';
  constructor() {
    super('The facilitator gets too many requests.');
  }
}

export type FacilitatorTurns = ReturnType<typeof createFacilitatorTurns>;

type Reply = { statusCode: number; retryAfterSeconds: number | undefined };
type Waiting = { start(): void };
type Account = { running: number; waiting: Waiting[] };

/**
 * Lets accounts take turns at a facilitator. All sellers share the facilitator's rate limit, and a seller can buy from
 * itself as often as it likes, because the money comes back. Without turns, it could use up all of the rate limit.
 *
 * If the facilitator responds with 429, nothing is sent for as long as it asks for, and then only half as many calls
 * get a turn at the same time. Their number grows again with each call that isn't rejected. A turn ends with its call,
 * or after a second. Otherwise, an account could hold all turns with slow calls, for example, with smart wallets whose
 * signatures are costly to check.
 *
 * @param now a monotonic clock, in milliseconds
 */
export function createFacilitatorTurns({ maxCalls = MAX_CALLS, now = () => performance.now() } = {}) {
  const maxOfAccount = Math.max(1, Math.floor(maxCalls * ACCOUNT_SHARE));
  /** The accounts with waiting calls. The one whose turn is next comes first. */
  const accounts = new Map<string, Account>();
  let limit = maxCalls;
  let running = 0;
  /** The running calls whose turns haven't ended. */
  let turnCount = 0;
  let slowedAt = Number.NEGATIVE_INFINITY;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let isResuming = false;

  function startNext(): boolean {
    if (running >= maxCalls || turnCount >= Math.floor(limit)) return false;
    for (const [accountId, account] of accounts) {
      if (account.waiting.length === 0 || account.running >= maxOfAccount) continue;
      // Removed and added again, so that it is the other accounts' turn.
      accounts.delete(accountId);
      accounts.set(accountId, account);
      running += 1;
      turnCount += 1;
      account.running += 1;
      account.waiting.shift()!.start();
      return true;
    }
    return false;
  }

  function startWaiting(): void {
    if (isResuming) return;
    const pause = pausedUntil - now();
    if (pause <= 0) while (startNext());
    else {
      isResuming = true;
      setTimeout(resume, pause);
    }
  }

  function resume(): void {
    isResuming = false;
    startWaiting();
  }

  function accountOf(accountId: string): Account {
    const account = accounts.get(accountId) ?? { running: 0, waiting: [] };
    accounts.set(accountId, account);
    return account;
  }

  /** @throws TurnMissed */
  function turn(accountId: string, until: number, isRepeated: boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { waiting } = accountOf(accountId);
    const giveUp = setTimeout(
      () => {
        waiting.splice(waiting.indexOf(call), 1);
        forgetIdle(accountId);
        reject(new TurnMissed());
      },
      Math.max(0, until - now()),
    );
    const call = {
      start() {
        clearTimeout(giveUp);
        resolve();
      },
    };
    if (isRepeated) waiting.unshift(call);
    else waiting.push(call);
    startWaiting();
    return promise;
  }

  /** Returns a function that ends the turn. A turn that takes too long ends without it. */
  function limitTurn(): () => void {
    let hasEnded = false;
    const end = () => {
      if (hasEnded) return;
      hasEnded = true;
      turnCount -= 1;
      clearTimeout(timer);
    };
    const timer = setTimeout(() => {
      end();
      startWaiting();
    }, MAX_TURN_MILLISECONDS);
    return end;
  }

  function leave(accountId: string): void {
    running -= 1;
    accounts.get(accountId)!.running -= 1;
    forgetIdle(accountId);
  }

  function forgetIdle(accountId: string): void {
    const account = accounts.get(accountId);
    if (account?.running === 0 && account.waiting.length === 0) accounts.delete(accountId);
  }

  /** Calls that were sent before the last slowdown say nothing about the new pace. */
  function slowDown(sentAt: number, atOnce: number, retryAfterSeconds: number | undefined): void {
    if (sentAt < slowedAt) return;
    slowedAt = now();
    limit = Math.max(1, Math.floor(Math.min(limit, atOnce) / 2));
    const pause = retryAfterSeconds === undefined ? PAUSE_MILLISECONDS : retryAfterSeconds * 1000;
    pausedUntil = slowedAt + Math.min(pause, MAX_PAUSE_MILLISECONDS);
  }

  return {
    /**
     * Sends a call once it is the account's turn.
     *
     * @param options `waitMilliseconds`: how long to wait for a turn. `isRepeated`: whether to wait for another turn if
     *   the facilitator responds with 429.
     * @throws TurnMissed if the call wasn't sent in time, and whatever `send` throws.
     */
    async run<T extends Reply>(
      accountId: string,
      send: () => Promise<T>,
      { waitMilliseconds, isRepeated }: { waitMilliseconds: number; isRepeated: boolean },
    ): Promise<T> {
      const until = now() + waitMilliseconds;
      for (let isFirst = true; ; isFirst = false) {
        await turn(accountId, until, !isFirst);
        const sentAt = now();
        const endTurn = limitTurn();
        try {
          const reply = await send();
          if (reply.statusCode !== TOO_MANY_REQUESTS) {
            limit = Math.min(maxCalls, limit + GROWTH);
            return reply;
          }
          slowDown(sentAt, turnCount, reply.retryAfterSeconds);
          if (!isRepeated || now() >= until) return reply;
        } finally {
          endTurn();
          leave(accountId);
          startWaiting();
        }
      }
    },
  };
}

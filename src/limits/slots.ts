import { AppError } from '../errors.ts';

export type SlotLimits = {
  perAccount: number;
  perProcess: number;
  /** How many of the process's slots are reserved for accounts that don't have one yet. Default: 0. */
  forNewAccounts?: number;
};

export type Slots = {
  /**
   * Reserves a slot. Call the returned function to release it.
   *
   * @param drop called if the slot is given to another account: ends what uses it. Without it, the slot is never given away.
   * @throws AppError `RATE_LIMITED` if the account has no slots left, or `UNAVAILABLE` if this process has none.
   */
  take(accountId: string, drop?: () => void): () => void;
};

type Slot = { since: number; drop: (() => void) | undefined };
/** `usedMilliseconds`: how long it has held slots that it released, until `at`. Earlier use counts less. */
type Account = { held: Set<Slot>; usedMilliseconds: number; at: number };

/** After this time, half as much of an account's use of slots counts. */
const HALF_LIFE_MILLISECONDS = 10 * 60_000;
/** How much longer than others an account must have used slots to lose one to them. Otherwise, two could keep taking each other's. */
const LEAD_MILLISECONDS = 5_000;
/** Accounts that have used slots recently. Above this number, those that have hardly used any are forgotten. */
const MAX_REMEMBERED = 1_000;
const HARDLY_ANY_MILLISECONDS = 1_000;

/**
 * Limits how many operations of one kind an account and a process can run at the same time. If the process has no slots
 * left, the account that has used slots for the longest time recently loses one to an account that has used them less.
 * Otherwise, a few accounts that keep their operations running could use up all slots.
 *
 * @param texts what callers are told if their account or the process has no slots left.
 * @param retryAfterSeconds how long callers are told to wait. Most slots should be released in less time.
 * @param now a monotonic clock, in milliseconds.
 */
export function createSlots(
  limits: SlotLimits,
  { texts, retryAfterSeconds }: { texts: { account: string; process: string }; retryAfterSeconds: number },
  now: () => number = () => performance.now(),
): Slots {
  const accounts = new Map<string, Account>();
  let total = 0;

  const earlierUseOf = ({ usedMilliseconds, at }: Account) =>
    usedMilliseconds * 0.5 ** ((now() - at) / HALF_LIFE_MILLISECONDS);

  /** How long an account has used slots, until now. */
  function useOf(account: Account): number {
    return [...account.held].reduce((sum, { since }) => sum + now() - since, earlierUseOf(account));
  }

  function open(accountId: string): Account {
    const account = accounts.get(accountId) ?? { held: new Set(), usedMilliseconds: 0, at: now() };
    accounts.set(accountId, account);
    return account;
  }

  function release(account: Account, slot: Slot): void {
    if (!account.held.has(slot)) return;
    account.held.delete(slot);
    Object.assign(account, { usedMilliseconds: earlierUseOf(account) + now() - slot.since, at: now() });
    total -= 1;
  }

  /** Ends an operation of the account that has used slots for the longest time. @returns whether there is one. */
  function dropFor(newcomer: Account): boolean {
    const droppable = [...accounts.values()].flatMap((account) => {
      const slot = [...account.held].find(({ drop }) => drop);
      return slot ? [{ account, slot, use: useOf(account) }] : [];
    });
    const [longest] = droppable.toSorted((one, other) => other.use - one.use);
    if (!longest || longest.use <= useOf(newcomer) + LEAD_MILLISECONDS) return false;
    release(longest.account, longest.slot);
    longest.slot.drop!();
    return true;
  }

  function forget(): void {
    for (const [id, account] of accounts) {
      if (account.held.size === 0 && useOf(account) < HARDLY_ANY_MILLISECONDS) accounts.delete(id);
    }
  }

  return {
    take(accountId, drop) {
      if (accounts.size > MAX_REMEMBERED) forget();
      const account = open(accountId);
      if (account.held.size >= limits.perAccount) {
        throw new AppError('RATE_LIMITED', { detail: texts.account, retryAfterSeconds });
      }
      const reserved = account.held.size > 0 ? (limits.forNewAccounts ?? 0) : 0;
      if (total >= limits.perProcess - reserved && !(account.held.size === 0 && dropFor(account)))
        throw new AppError('UNAVAILABLE', { detail: texts.process, retryAfterSeconds });
      const slot = { since: now(), drop };
      account.held.add(slot);
      total += 1;
      return () => release(account, slot);
    },
  };
}

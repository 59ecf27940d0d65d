import type { Logger } from 'pino';
import type { Queryable } from '../../database/client.ts';
import { runStatement, statement } from '../../database/statement.ts';
import { type DayUse, takeEachOfDay } from '../../limits/day-limit.ts';
import { TIERS, type Tier } from '../../limits/tiers.ts';
import { createLru } from '../../lru.ts';
import type { AttemptRecord } from '../model/claimed-delivery.ts';
import type { DeliveryOutcome } from '../model/outcome.ts';

/**
 * The number of shares that an account's limit is divided into. A process takes a whole share in one step, so that few
 * batches need a query.
 */
const SHARES = 256;
/** How long to wait after a share was refused. A share refills in less than six minutes. */
const REFUSED_MILLISECONDS = 60_000;
/** The maximum number of accounts to remember. An account that is forgotten loses at most one share. */
const MAX_ACCOUNTS = 10_000;

/** Bytes taken but not used yet. Negative if content was stored while the database couldn't count it. */
type Balance = { bytes: number; refusedUntil: number };

export type ContentBudgetOptions = { pool: Queryable; log: Logger; now?: () => number };

/**
 * Limits how much content (delivery requests and responses) is stored per day for an account. Otherwise, one account
 * could fill the disk. All processes share the count.
 */
export function createContentBudget({ pool, log, now = () => performance.now() }: ContentBudgetOptions) {
  const balances = createLru<Balance>(MAX_ACCOUNTS);

  function balanceOf(account: string): Balance {
    const balance = balances.get(account) ?? { bytes: 0, refusedUntil: Number.NEGATIVE_INFINITY };
    balances.set(account, balance);
    return balance;
  }

  /** Takes shares for accounts that need more than they have. @returns the accounts whose whole batch can be stored. */
  async function topUp(needed: ReadonlyMap<string, number>): Promise<ReadonlySet<string>> {
    const missing = [...needed]
      .map(([account, bytes]) => ({ account, bytes: bytes - balanceOf(account).bytes }))
      .filter(({ account, bytes }) => bytes > 0 && balanceOf(account).refusedUntil <= now());
    if (missing.length === 0) return new Set();
    try {
      const taken = await takeShares(pool, missing);
      for (const { account } of missing) {
        const bytes = taken.get(account);
        if (bytes === undefined) balanceOf(account).refusedUntil = now() + REFUSED_MILLISECONDS;
        else balanceOf(account).bytes += bytes;
      }
      return new Set();
    } catch (error) {
      log.warn({ err: error }, "couldn't count stored responses toward the daily limit; will count them later");
      return new Set(missing.map(({ account }) => account));
    }
  }

  return {
    /** The outcomes, without the content that exceeds the limit. */
    async limit(outcomes: readonly DeliveryOutcome[]): Promise<DeliveryOutcome[]> {
      const needed = new Map<string, number>();
      for (const { delivery, attempts } of outcomes) {
        const bytes = attempts.reduce((sum, attempt) => sum + contentBytes(attempt), 0);
        if (bytes > 0) needed.set(delivery.account, (needed.get(delivery.account) ?? 0) + bytes);
      }
      const covered = await topUp(needed);
      return outcomes.map((outcome) => {
        const { account } = outcome.delivery;
        const attempts = outcome.attempts.map((attempt) => {
          const bytes = contentBytes(attempt);
          const balance = balanceOf(account);
          if (bytes > 0 && bytes > balance.bytes && !covered.has(account)) return withoutContent(attempt);
          balance.bytes -= bytes;
          return attempt;
        });
        return { ...outcome, attempts };
      });
    },
  };
}

type Missing = { account: string; bytes: number };

const READ_TIERS = statement('user-tiers', `SELECT "id", "tier" FROM "User" WHERE "id" = ANY ($1)`);

/** @returns the bytes that each account got. Accounts without enough left are missing. */
async function takeShares(pool: Queryable, missing: readonly Missing[]): Promise<ReadonlyMap<string, number>> {
  const { rows } = await runStatement<{ id: string; tier: Tier }>(
    pool,
    READ_TIERS(missing.map(({ account }) => account)),
  );
  const tiers = new Map(rows.map(({ id, tier }) => [id, tier]));
  const wanted = missing.flatMap(({ account, bytes }) => {
    const tier = tiers.get(account);
    if (!tier) return [];
    const shareBytes = TIERS[tier].maxContentBytesPerDay / SHARES;
    const use: DayUse = {
      key: `attempt-content ${account}`,
      limitPerDay: SHARES,
      amount: Math.min(SHARES, Math.ceil(bytes / shareBytes)),
    };
    return { account, shareBytes, use };
  });
  const taken = await takeEachOfDay(
    pool,
    wanted.map(({ use }) => use),
  );
  // If there isn't enough left for the whole batch, takes one share for a part of it.
  const rest = wanted
    .filter(({ use }) => use.amount > 1 && !taken.has(use.key))
    .map(({ use }) => ({ ...use, amount: 1 }));
  const single = rest.length > 0 ? await takeEachOfDay(pool, rest) : new Set();
  return new Map(
    wanted.flatMap(({ account, shareBytes, use: { key, amount } }): [string, number][] => {
      const shares = taken.has(key) ? amount : Number(single.has(key));
      return shares > 0 ? [[account, shares * shareBytes]] : [];
    }),
  );
}

function contentBytes({ responseBody, exchange }: AttemptRecord): number {
  const { request = null, responseHeaders = null } = exchange ?? {};
  const texts = [responseBody ?? '', request?.url ?? ''];
  for (const headers of [request?.headers, responseHeaders]) texts.push(...Object.entries(headers ?? {}).flat());
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

function withoutContent(attempt: AttemptRecord): AttemptRecord {
  const { exchange } = attempt;
  return {
    ...attempt,
    responseBody: null,
    isContentOmitted: true,
    ...(exchange && { exchange: { ...exchange, request: null, responseHeaders: null } }),
  };
}

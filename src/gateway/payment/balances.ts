import type { KnownFunds } from '../../features/payments/steps/verify.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import { createLru } from '../../lru.ts';
import type { Chain } from '../chain/chain.ts';

/**
 * How long a balance is cached. The payer may move the money in the meantime, but that can also happen between a
 * payment's verification and its settlement.
 */
const LIFETIME_MILLISECONDS = 1_000;
const MAX_REMEMBERED = 10_000;

type Lookup = { startedAt: number; funds: Promise<KnownFunds> };
type Seen = { startedAt: number; funds: KnownFunds };

/**
 * Reads the balances of payers' wallets. Payments that wait at the same time share one lookup of the wallet, and the
 * balance is cached briefly.
 *
 * @param now returns the time of a monotonic clock, in milliseconds
 */
export function createBalances(chain: Pick<Chain, 'fundsOf'>, now: () => number = () => performance.now()) {
  const lookups = new Map<string, Lookup>();
  const remembered = createLru<Seen>(MAX_REMEMBERED);

  function startLookup(key: string, payment: Payment): Lookup {
    const startedAt = now();
    const started = { startedAt, funds: readFunds(chain, payment) };
    lookups.set(key, started);
    const end = () => {
      if (lookups.get(key) === started) lookups.delete(key);
    };
    started.funds.then((funds) => remember(key, { startedAt, funds })).then(end, end);
    return started;
  }

  function remember(key: string, seen: Seen): void {
    // A lookup that started later may have ended earlier.
    if ((remembered.get(key)?.startedAt ?? 0) > seen.startedAt) return;
    remembered.set(key, seen);
  }

  /** The payer's wallet. Call this once the payment is claimed. */
  return function walletOf(claimed: Payment) {
    const key = `${claimed.assetAddress} ${claimed.payer}`;
    const claimedAt = now();
    return {
      /** The wallet's balance a moment ago, perhaps before the claim. */
      lastSeen(): KnownFunds | undefined {
        const seen = remembered.get(key);
        return seen && now() - seen.startedAt < LIFETIME_MILLISECONDS ? seen.funds : undefined;
      },

      /** The wallet's balance at some time after the claim. @throws Error if no node responds. */
      async balance(): Promise<bigint> {
        const current = lookups.get(key);
        const isShared = current !== undefined && current.startedAt >= claimedAt;
        // A single failed request to a node must not fail every payment from the wallet.
        const shared = isShared ? await current.funds.catch(() => undefined) : undefined;
        const { balanceAtomic } = shared ?? (await startLookup(key, claimed).funds);
        return balanceAtomic;
      },
    };
  };
}

async function readFunds(chain: Pick<Chain, 'fundsOf'>, claimed: Payment): Promise<KnownFunds> {
  const wallet = { assetAddress: claimed.assetAddress as `0x${string}`, payer: claimed.payer as `0x${string}` };
  const { balanceAtomic } = await chain.fundsOf(wallet, []);
  return { balanceAtomic, since: claimed.updatedAt };
}

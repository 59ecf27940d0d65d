import {
  type ContractFunctionParameters,
  numberToHex,
  pad,
  parseAbi,
  parseEventLogs,
  type Transport,
  toEventSelector,
} from 'viem';
import type { Network } from './networks.ts';
import { nodeClient } from './rpc.ts';

/** An authorization to look up. Addresses can be uppercase or lowercase. */
type SoughtAuthorization = {
  assetAddress: `0x${string}`;
  payer: `0x${string}`;
  payTo: `0x${string}`;
  nonce: `0x${string}`;
  amountAtomic: bigint;
  /** When the authorization was presented. It can't have paid for anything here before that. */
  since: Date;
  validBefore: Date;
};

/**
 * What the chain says about an authorization.
 *
 * `unused` with `isExpired`: it was never used and, by the chain's own clock, can no longer be used.
 */
export type ChainOutcome =
  | { kind: 'settled'; transactionHash: `0x${string}`; settledAt: Date }
  | { kind: 'voided'; reason: 'authorization_canceled' | 'authorization_used_elsewhere' }
  | { kind: 'unused'; isExpired: boolean };

export type Chain = {
  /**
   * @throws Error if no node responds, or if the node reports the nonce as used but hasn't indexed the transaction yet.
   */
  outcomeOf(authorization: SoughtAuthorization): Promise<ChainOutcome>;
  /**
   * A wallet's balance and which of the authorizations have been used, both read at the same block.
   *
   * @throws Error if no node responds.
   */
  fundsOf(wallet: Wallet, nonces: readonly `0x${string}`[]): Promise<Funds>;
};

type Wallet = { assetAddress: `0x${string}`; payer: `0x${string}` };
type Funds = { balanceAtomic: bigint; usedNonces: ReadonlySet<string> };

// EIP-3009 (https://eips.ethereum.org/EIPS/eip-3009) and ERC-20.
const ABI = parseAbi([
  'function balanceOf(address owner) view returns (uint256)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
]);
const CANCELED = toEventSelector(ABI[3]);
const MARK_EVENTS = [toEventSelector(ABI[2]), CANCELED];

/** Multicall3's address on nearly every chain (https://www.multicall3.com). */
const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11';

type BlockTime = { number: bigint; timestamp: bigint };
type Mark = { isCanceled: boolean; transactionHash: `0x${string}`; blockNumber: bigint };

/** Public nodes reject wider ranges. */
const BLOCKS_AT_ONCE = 1_000n;
/** The newest blocks can still be replaced. */
const REORGANIZATION_SECONDS = 10n;
/** The allowed difference between this machine's clock and the chain's. */
const CLOCK_SKEW_SECONDS = 600n;

/** Looks up authorizations through a node. */
export function createChain({ network, transport }: { network: Network; transport: Transport }): Chain {
  const client = nodeClient(transport);

  async function outcomeOf(sought: SoughtAuthorization): Promise<ChainOutcome> {
    const latest = await client.getBlock({ blockTag: 'latest' });
    // These are read at that exact block, because one URL can have several nodes behind it, and some of them may lag.
    if (await isUsedAt(sought, latest.number)) return useOf(sought, latest);
    const validBefore = BigInt(Math.floor(sought.validBefore.getTime() / 1000));
    return { kind: 'unused', isExpired: latest.timestamp >= validBefore + REORGANIZATION_SECONDS };
  }

  function isUsedAt({ assetAddress, payer, nonce }: SoughtAuthorization, blockNumber: bigint): Promise<boolean> {
    const args = [payer, nonce] as const;
    return client.readContract({
      blockNumber,
      address: assetAddress,
      abi: ABI,
      functionName: 'authorizationState',
      args,
    });
  }

  /**
   * Finds the transaction that used the authorization. An authorization that was used before it was presented here paid
   * for something else.
   */
  async function useOf(sought: SoughtAuthorization, latest: BlockTime): Promise<ChainOutcome> {
    // Our own clock may have been ahead, but the authorization can't have been presented after the latest block.
    const since = BigInt(Math.floor(sought.since.getTime() / 1000));
    const presentedAt = (since < latest.timestamp ? since : latest.timestamp) - CLOCK_SKEW_SECONDS;
    const reported = await client.getBlockNumber({ cacheTime: 0 });
    const credible = latest.number + BLOCKS_AT_ONCE;
    const newest = reported < credible ? reported : credible;
    const first = await firstBlockAt(presentedAt, latest);
    for (let from = first; from <= newest; from += BLOCKS_AT_ONCE) {
      const last = from + BLOCKS_AT_ONCE - 1n;
      const [mark] = await marksOf(sought, from, last < newest ? last : newest);
      if (mark) return judge(sought, mark);
    }
    if (first > 0n && (await isUsedAt(sought, first - 1n))) {
      return { kind: 'voided', reason: 'authorization_used_elsewhere' };
    }
    throw new Error(
      `The ${network.title} node reports that the authorization has been used, but can't find the transaction yet`,
    );
  }

  /** What marked the nonce as used within a range of blocks: a transfer, or a cancellation by the payer. */
  async function marksOf(
    { assetAddress, payer, nonce }: SoughtAuthorization,
    from: bigint,
    to: bigint,
  ): Promise<Mark[]> {
    const logs = await client.request({
      method: 'eth_getLogs',
      params: [
        {
          address: assetAddress,
          topics: [MARK_EVENTS, pad(payer), nonce],
          fromBlock: numberToHex(from),
          toBlock: numberToHex(to),
        },
      ],
    });
    return logs.map(({ topics, transactionHash, blockNumber }) => ({
      isCanceled: topics[0] === CANCELED,
      transactionHash: transactionHash!,
      blockNumber: BigInt(blockNumber!),
    }));
  }

  async function judge(sought: SoughtAuthorization, mark: Mark): Promise<ChainOutcome> {
    if (mark.isCanceled) return { kind: 'voided', reason: 'authorization_canceled' };
    const { transactionHash } = mark;
    const [receipt, block] = await Promise.all([
      client.getTransactionReceipt({ hash: transactionHash }),
      client.getBlock({ blockNumber: mark.blockNumber }),
    ]);
    const logs = parseEventLogs({ abi: ABI, eventName: ['AuthorizationUsed', 'Transfer'], logs: receipt.logs }).filter(
      (log) => same(log.address, sought.assetAddress),
    );
    // The mark is found again, because its block may have been replaced, and another block has other log indexes.
    const markedAt = logs.findIndex(
      (log) =>
        log.eventName === 'AuthorizationUsed' &&
        same(log.args.authorizer, sought.payer) &&
        same(log.args.nonce, sought.nonce),
    );
    if (markedAt < 0)
      throw new Error(`The ${network.title} node has no authorization in the receipt of ${transactionHash}`);
    // The token logs the transfer right after it marks the authorization as used. Other transfers in the transaction
    // are unrelated.
    const transfer = logs.find((log, index) => log.eventName === 'Transfer' && index > markedAt);
    const isPaid =
      transfer?.eventName === 'Transfer' &&
      same(transfer.args.from, sought.payer) &&
      same(transfer.args.to, sought.payTo) &&
      transfer.args.value === sought.amountAtomic;
    if (!isPaid) return { kind: 'voided', reason: 'authorization_used_elsewhere' };
    return { kind: 'settled', transactionHash, settledAt: new Date(Number(block.timestamp) * 1000) };
  }

  /** A block shortly before the given time, or the first block after it. */
  async function firstBlockAt(timestamp: bigint, latest: BlockTime): Promise<bigint> {
    const timeOf = async (blockNumber: bigint) => (await client.getBlock({ blockNumber })).timestamp;
    // Most chains add at most one block per second, so going back one block per second is far enough.
    let distance = latest.timestamp - timestamp;
    let [low, high] = [latest.number - distance, latest.number];
    if (low <= 0n) return 0n;
    if ((await timeOf(low)) <= timestamp) return low;
    // Others add more. Much older blocks aren't read, because many nodes don't keep them.
    do {
      distance *= 2n;
      [low, high] = [latest.number - distance, low];
    } while (low > 0n && (await timeOf(low)) > timestamp);
    if (low < 0n) low = 0n;
    while (low < high) {
      const middle = (low + high) / 2n;
      if ((await timeOf(middle)) < timestamp) low = middle + 1n;
      else high = middle;
    }
    return low;
  }

  async function fundsOf({ assetAddress, payer }: Wallet, nonces: readonly `0x${string}`[]): Promise<Funds> {
    const token = { address: assetAddress, abi: ABI } as const;
    const balance = { ...token, functionName: 'balanceOf', args: [payer] } as const;
    if (nonces.length === 0) return { balanceAtomic: await client.readContract(balance), usedNonces: new Set() };
    // This is a single call, so the balance and the authorizations are from the same block.
    const states = nonces.map((nonce) => ({ ...token, functionName: 'authorizationState', args: [payer, nonce] }));
    const [balanceAtomic, ...isUsed] = (await client.multicall({
      allowFailure: false,
      batchSize: 0,
      multicallAddress: network.multicallAddress ?? MULTICALL3,
      contracts: [balance, ...states] as ContractFunctionParameters[],
    })) as [bigint, ...boolean[]];
    return { balanceAtomic, usedNonces: new Set(nonces.filter((_nonce, index) => isUsed[index])) };
  }

  return { outcomeOf, fundsOf };
}

function same(first: string, second: string): boolean {
  return first.toLowerCase() === second.toLowerCase();
}

import { sourceOf } from '../../limits/failed-credentials.ts';

/** One request's share of the response memory. It is firm: it can't be dropped unless `mayDrop` is called. */
export type BufferedResponse = {
  /**
   * Reserves bytes. Returns false if there is no room.
   *
   * @param paymentId the payment, if its response is being returned again. Each payment has its own limit.
   */
  take(bytes: number, paymentId?: string): boolean;
  /** Like `take`, and from now on the response isn't dropped. Returns false if it was dropped, or there is no room. */
  takeFirmly(bytes: number, paymentId?: string): boolean;
  /** Whether the client address has room for more bytes. It doesn't reserve them. */
  hasAddressCapacity(bytes: number): boolean;
  /** Whether there was no room because of the client address or the payment itself, and not because of others. */
  readonly isOverShare: boolean;
  /**
   * From now on, the response can be dropped to make room for others, because nobody loses money if it is.
   *
   * @param end ends the call to the upstream, or closes the connection to the buyer.
   */
  mayDrop(end: () => void): void;
  /** From now on, the response isn't dropped, because the buyer is being charged. Returns false if it was dropped. */
  keep(): boolean;
  /** The response is complete, and can be dropped while the buyer reads it. */
  waitForBuyer(end: () => void): void;
  /** Releases everything that was reserved. */
  release(): void;
};

export type ResponseMemoryBounds = {
  maxBytes: number;
  /** The limit per client address, or per /64 for IPv6. */
  maxAddressBytes: number;
  /** The limit per payment, for all retries of its request. */
  maxPaymentBytes: number;
};

const MEGABYTE = 1024 * 1024;
const BOUNDS: ResponseMemoryBounds = {
  maxBytes: 256 * MEGABYTE,
  maxAddressBytes: 64 * MEGABYTE,
  maxPaymentBytes: 32 * MEGABYTE,
};

const ALL = 'all';
/** How much of the memory can be firm. Most of that is streams, which can't be dropped once they are paid for. */
const FIRM_SHARE = 3 / 4;
/**
 * How much of the remaining firm memory a single address or account can hold. If it is the only one, that is a quarter
 * of the memory.
 */
const FIRM_SHARE_OF_ONE = 1 / 2;

/** How long a buyer can read a complete response before it is the first to be dropped. */
const READING_MILLISECONDS = 10_000;

/** The buyer's address and the seller's account. A response is held on behalf of both. */
type Holders = { address: string; account: string };

/** A response that can be dropped. */
type Droppable = Holders & {
  drop(isOverShare: boolean): void;
  bytes(): number;
  /** When the buyer started to read the complete response, on the clock of `performance.now()`. */
  readingSince: number;
};

/**
 * Limits how many bytes of responses the process holds at the same time. A response is held from the time the upstream
 * sends it until the buyer has read it. Without the total limit, large, cheap responses could use up the memory of a
 * gateway that many sellers share.
 *
 * If the memory is full, complete responses that buyers have been reading for a long time are dropped first, no matter
 * how many addresses and accounts they belong to. Then responses of those who use the most are dropped to make room for
 * those who use less. Those who use the most are buyers who don't read responses, and sellers whose responses never
 * end. They can have many addresses and accounts, so both count. If a client address is full, its responses from the
 * seller who uses the most are dropped in the same way. Otherwise, a seller could keep the buyer from buying elsewhere.
 * A response can be dropped until its buyer is being charged, and again once the buyer can get it by retrying the
 * request. Streams that were paid for can never be dropped, so they can't take all of the memory.
 *
 * @param now a monotonic clock, in milliseconds
 * @returns a function that opens the share of one request from a client address to an account's endpoint.
 */
export function createResponseMemory(bounds: ResponseMemoryBounds = BOUNDS, now = () => performance.now()) {
  const buffered = createTally();
  /** The firm part of it. */
  const firm = createTally();
  const droppable = new Set<Droppable>();

  /** How much more memory the first one's holders have, not counting a holder that both have in common. */
  function lead(one: Holders, other: Holders): number {
    const sameAddress = one.address === other.address;
    const sameAccount = one.account === other.account;
    const largestOf = ({ address, account }: Holders) =>
      Math.max(sameAddress ? 0 : buffered.of(address), sameAccount ? 0 : buffered.of(account));
    return largestOf(one) - largestOf(other);
  }

  /** The response to drop first to make room for more bytes: in total, or within a client address. */
  function nextToDrop(holders: Holders, bytes: number, within: string): Droppable | undefined {
    let largest: Droppable | undefined;
    let largestLead = bytes;
    for (const one of droppable) {
      if (within !== ALL && one.address !== within) continue;
      const leadOfOne = lead(one, holders);
      if (leadOfOne <= largestLead) continue;
      largest = one;
      largestLead = leadOfOne;
    }
    return largest;
  }

  /** The largest response that its buyer has been reading for a long time. */
  function slowestToRead(): Droppable | undefined {
    let largest: Droppable | undefined;
    for (const one of droppable) {
      const isSlow = one.readingSince < now() - READING_MILLISECONDS;
      if (isSlow && one.bytes() > (largest?.bytes() ?? 0)) largest = one;
    }
    return largest;
  }

  /** Drops responses until there is room for more bytes. Returns false if that isn't possible. */
  function freeMemory(holders: Holders, bytes: number, within: string, maxBytes: number): boolean {
    while (buffered.of(within) + bytes > maxBytes) {
      const next = (within === ALL ? slowestToRead() : undefined) ?? nextToDrop(holders, bytes, within);
      if (!next) return false;
      next.drop(within !== ALL);
    }
    return true;
  }

  /** Whether there is room for more firm bytes. */
  function hasFirmCapacity({ address, account }: Holders, bytes: number): boolean {
    const left = FIRM_SHARE * bounds.maxBytes - firm.of(ALL) - bytes;
    return [address, account].every((holder) => firm.of(holder) + bytes <= FIRM_SHARE_OF_ONE * left);
  }

  return (clientAddress: string, accountId: string): BufferedResponse => {
    const holders = { address: `address ${sourceOf(clientAddress)}`, account: `account ${accountId}` };
    const own = new Map<string, number>();
    let status: 'firm' | 'droppable' | 'charging' | 'dropped' = 'firm';
    let isOverShare = false;
    let end = () => {};

    const entry: Droppable = {
      ...holders,
      readingSince: Infinity,
      bytes: () => own.get(ALL) ?? 0,
      drop(isOfAddress) {
        release();
        status = 'dropped';
        isOverShare = isOfAddress;
        end();
      },
    };

    function release(): void {
      loosen();
      for (const [key, bytes] of own) buffered.add(key, -bytes);
      own.clear();
      droppable.delete(entry);
    }

    function loosen(): void {
      if (status === 'firm') for (const [key, bytes] of own) firm.add(key, -bytes);
    }

    function take(bytes: number, paymentId?: string): boolean {
      const shares: [string, number][] = [[holders.address, bounds.maxAddressBytes]];
      if (paymentId !== undefined) shares.push([`payment ${paymentId}`, bounds.maxPaymentBytes]);
      if (status === 'dropped') return false;
      isOverShare = shares.some(([key, maxBytes]) => !freeMemory(holders, bytes, key, maxBytes));
      if (isOverShare) return false;
      if (status === 'firm' && !hasFirmCapacity(holders, bytes)) return false;
      if (!freeMemory(holders, bytes, ALL, bounds.maxBytes)) return false;
      for (const key of [ALL, holders.account, ...shares.map(([name]) => name)]) {
        buffered.add(key, bytes);
        if (status === 'firm') firm.add(key, bytes);
        own.set(key, (own.get(key) ?? 0) + bytes);
      }
      if (status === 'droppable') droppable.add(entry);
      return true;
    }

    /** From now on, the response isn't dropped. Returns false if there is no room for more firm bytes. */
    function makeFirm(): boolean {
      if (status !== 'droppable') return status === 'firm';
      if (!hasFirmCapacity(holders, entry.bytes())) return false;
      droppable.delete(entry);
      status = 'firm';
      for (const [key, bytes] of own) firm.add(key, bytes);
      return true;
    }

    function mayDrop(newEnd: () => void): void {
      if (status === 'dropped') {
        newEnd();
        return;
      }
      loosen();
      status = 'droppable';
      end = newEnd;
      // A response that holds nothing isn't listed, because nothing would remove it.
      if (own.size > 0) droppable.add(entry);
    }

    return {
      hasAddressCapacity: (bytes) =>
        buffered.of(holders.address) + bytes <= bounds.maxAddressBytes ||
        nextToDrop(holders, bytes, holders.address) !== undefined,
      take,
      takeFirmly: (bytes, paymentId) => makeFirm() && take(bytes, paymentId),
      get isOverShare() {
        return isOverShare;
      },
      mayDrop,
      keep() {
        if (status === 'dropped') return false;
        status = 'charging';
        droppable.delete(entry);
        return true;
      },
      waitForBuyer(newEnd) {
        entry.readingSince = now();
        mayDrop(newEnd);
      },
      release,
    };
  };
}

/** Sums by key. */
function createTally() {
  const sums = new Map<string, number>();
  return {
    of: (key: string) => sums.get(key) ?? 0,
    add(key: string, amount: number): void {
      const sum = (sums.get(key) ?? 0) + amount;
      if (sum > 0) sums.set(key, sum);
      else sums.delete(key);
    },
  };
}

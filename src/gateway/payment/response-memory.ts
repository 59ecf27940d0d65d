import { sourceOf } from '../../limits/failed-credentials.ts';

/** One request's share of the response memory. */
export type HeldResponse = {
  /**
   * Reserves bytes. Returns false if there is no room.
   *
   * @param paymentId the payment, if its response is being returned again. Each payment has its own limit.
   */
  take(bytes: number, paymentId?: string): boolean;
  /** Releases everything that was reserved. */
  release(): void;
};

export type ResponseMemoryBounds = {
  maxBytes: number;
  /** Per client address, or per /64 for IPv6. */
  maxAddressBytes: number;
  /** Per payment, for all retries of its request. */
  maxPaymentBytes: number;
};

const MEGABYTE = 1024 * 1024;
const BOUNDS: ResponseMemoryBounds = {
  maxBytes: 256 * MEGABYTE,
  maxAddressBytes: 64 * MEGABYTE,
  maxPaymentBytes: 32 * MEGABYTE,
};

/**
 * Limits how many bytes of responses the process holds at once. A response is held from when the upstream sends it
 * until the buyer has read it. Without the total limit, large, cheap responses could use up the memory of a gateway
 * that many sellers share. Without the smaller limits, one buyer who doesn't read could take all of it.
 *
 * @returns a function that opens the share of one request from a client address.
 */
export function createResponseMemory(bounds: ResponseMemoryBounds = BOUNDS): (address: string) => HeldResponse {
  const held = new Map<string, number>();

  function add(key: string, bytes: number): void {
    const sum = (held.get(key) ?? 0) + bytes;
    if (sum > 0) held.set(key, sum);
    else held.delete(key);
  }

  return (address) => {
    const always: [string, number][] = [
      ['all', bounds.maxBytes],
      [`address ${sourceOf(address)}`, bounds.maxAddressBytes],
    ];
    const own = new Map<string, number>();
    return {
      take(bytes, paymentId) {
        const shares = [...always];
        if (paymentId !== undefined) shares.push([`payment ${paymentId}`, bounds.maxPaymentBytes]);
        if (shares.some(([key, maxBytes]) => (held.get(key) ?? 0) + bytes > maxBytes)) return false;
        for (const [key] of shares) {
          add(key, bytes);
          own.set(key, (own.get(key) ?? 0) + bytes);
        }
        return true;
      },
      release() {
        for (const [key, bytes] of own) add(key, -bytes);
        own.clear();
      },
    };
  };
}

import { sourceOf } from '../../limits/failed-credentials.ts';

/** One request's share of the memory for answers. */
export type HeldAnswer = {
  /**
   * Reserves bytes; false when there is no room for them.
   *
   * @param paymentId of the payment whose answer is given once more, which has a bound of its own.
   */
  take(bytes: number, paymentId?: string): boolean;
  /** Gives all of it back. */
  release(): void;
};

export type AnswerMemoryBounds = {
  maxBytes: number;
  /** For one client address, for IPv6 its /64. */
  maxAddressBytes: number;
  /** For repeats of one payment, whoever asks for them. */
  maxPaymentBytes: number;
};

const MEGABYTE = 1024 * 1024;
const BOUNDS: AnswerMemoryBounds = {
  maxBytes: 256 * MEGABYTE,
  maxAddressBytes: 64 * MEGABYTE,
  maxPaymentBytes: 32 * MEGABYTE,
};

/**
 * Bounds the bytes of answers that all requests of the process hold at once: while they are settled, and until their
 * buyers have read them. Without it large answers at a low price could use up the memory of a gateway that sellers share,
 * and without the smaller bounds one buyer who does not read could have it all.
 *
 * @returns a function that opens the share of one request from a client address.
 */
export function createAnswerMemory(bounds: AnswerMemoryBounds = BOUNDS): (address: string) => HeldAnswer {
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

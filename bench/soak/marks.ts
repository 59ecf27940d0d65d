import { now } from '../support/child.ts';

/**
 * The price changes, by number. Change number N sets the price to N millionths of a dollar, so deliveries and frames
 * show which change they are about.
 */
export function createMarks() {
  let last = 0;
  const sentAt: number[] = [];
  const shopOf: number[] = [];
  const acknowledged: number[] = [];
  return {
    acknowledged,
    /** Starts a price change for one shop. */
    next(shop: number): number {
      last += 1;
      sentAt[last] = now();
      shopOf[last] = shop;
      return last;
    },
    /** Converts a change's number to its price, and back. */
    priceOf: (number: number): string => (number / 1e6).toFixed(6),
    numberOf: (price: string): number => Math.round(Number(price) * 1e6),
    sentAt: (number: number): number => sentAt[number]!,
    ofShop: (shop: number): number[] => acknowledged.filter((number) => shopOf[number] === shop),
  };
}

export type Marks = ReturnType<typeof createMarks>;

/** The times in milliseconds that were collected since the last call to `take`. */
export type Times = { payments: number[]; requests: number[]; deliveries: number[]; frames: number[] };

/** Collects durations. */
export function createTimes() {
  const empty = (): Times => ({ payments: [], requests: [], deliveries: [], frames: [] });
  let times = empty();
  return {
    add: (kind: keyof Times, milliseconds: number): void => void times[kind].push(milliseconds),
    take(): Times {
      const taken = times;
      times = empty();
      return taken;
    },
  };
}

export type TimeCollector = ReturnType<typeof createTimes>;

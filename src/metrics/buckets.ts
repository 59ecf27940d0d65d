/** From what a call within the house takes to what a receiver is given. */
export const BUCKETS_SECONDS = [0.005, 0.02, 0.05, 0.1, 0.3, 1, 3, 10, 30];

/** From a settlement that goes through at once to one that had to be looked up on the chain. */
export const SETTLEMENT_BUCKETS_SECONDS = [0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600];

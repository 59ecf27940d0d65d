/** These range from the duration of an internal call to the timeout of a delivery. */
export const BUCKETS_SECONDS = [0.005, 0.02, 0.05, 0.1, 0.3, 1, 3, 10, 30];

/** These range from an immediate settlement to one that had to be looked up on the chain. */
export const SETTLEMENT_BUCKETS_SECONDS = [0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600];

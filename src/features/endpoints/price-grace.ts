/** How long the old price stays valid after a change. Buyers may already have signed an authorization for it. */
export const PRICE_GRACE_SECONDS = 120;

/** How long the old price stays valid after a change. Buyers may still hold an authorization for it. */
export const PRICE_GRACE_SECONDS = 120;

/** How long the old price stays valid after a change: as long as a buyer may hold an authorization made for it. */
export const PRICE_GRACE_SECONDS = 120;

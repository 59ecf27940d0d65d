/** Replaces values that must not be shown. */
export const MASK = '••••';

/** Shown in place of a secret value. */
export const MASK = '••••';

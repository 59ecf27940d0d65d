/** Stands for what must not be shown. */
export const MASK = '••••';

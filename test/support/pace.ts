import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Spreads the actions of a test over time, so that they interleave in different ways, or so that a loop doesn't hog the
 * processor. Nothing that the test asserts may depend on how long it takes.
 */
export const pace = (milliseconds: number): Promise<void> => sleep(milliseconds);

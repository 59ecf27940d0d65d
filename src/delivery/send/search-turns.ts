import { setImmediate } from 'node:timers/promises';
import { createFairQueue } from '../../limits/fair-queue.ts';
import { isPrepared } from '../../secrets/redact.ts';

const turns = createFairQueue({ perAccount: 1, perProcess: Number.POSITIVE_INFINITY });

/**
 * Waits until a search for these secrets may be prepared, if it isn't yet. An account can make hundreds of responses
 * arrive at the same time, each with different secrets. Its searches are prepared one at a time, and the process does
 * other work in between. Otherwise, everyone else would have to wait for more than a second.
 */
export async function waitToSearch(secrets: readonly string[], accountId: string): Promise<void> {
  if (!isPrepared(secrets)) await turns.run(accountId, () => setImmediate());
}

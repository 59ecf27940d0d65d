import { createInterface } from 'node:readline/promises';
import { Failure } from './failure.ts';
import { visible } from './output.ts';

/**
 * Asks for confirmation on standard error. @throws Failure unless the user confirms; AbortError if the user interrupts.
 */
export async function confirm(question: string, signal: AbortSignal): Promise<void> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    // Without a terminal, input ends before anyone can reply.
    const ended = new Promise<undefined>((resolve) => lines.once('close', () => resolve(undefined)));
    // readline handles Ctrl-C itself.
    lines.once('SIGINT', () => process.emit('SIGINT'));
    const answer = await Promise.race([lines.question(`${visible(question)} [y/N] `, { signal }), ended]);
    // Only a terminal shows the line break at the end of a reply.
    if (answer === undefined || !process.stderr.isTTY) process.stderr.write('\n');
    if (answer !== undefined && /^y(es)?$/i.test(answer.trim())) return;
  } finally {
    lines.close();
  }
  throw new Failure('usage', 'Canceled. Nothing was changed. To continue, enter y or pass --yes.');
}

import { createInterface } from 'node:readline/promises';
import { Failure } from './failure.ts';

/** Asks on standard error and reads the answer. @throws Failure unless it is yes; AbortError when the user interrupts. */
export async function confirm(question: string, signal: AbortSignal): Promise<void> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    // Without anybody to ask, input ends before an answer.
    const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
    // It takes Ctrl-C for itself.
    lines.once('SIGINT', () => process.emit('SIGINT'));
    const answer = await Promise.race([lines.question(`${question} [y/N] `, { signal }), ended]);
    if (/^y(es)?$/i.test(answer.trim())) return;
  } finally {
    lines.close();
  }
  throw new Failure('usage', 'Nothing was done. Answer y, or give --yes.');
}

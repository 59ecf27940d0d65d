import { note } from './output.ts';

/** After this time, people wonder whether a command is still working. */
const SLOW_MILLISECONDS = 2_000;

/** Prints `text` to standard error if `work` takes more than two seconds. @returns the result of `work` */
export async function noteIfSlow<Result>(work: Promise<Result>, text: string): Promise<Result> {
  const timer = setTimeout(() => note(text), SLOW_MILLISECONDS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}

/** @param url the server's. Only its origin is shown, because the rest may contain secrets. */
export function waitingFor(url: string): string {
  return `Waiting for a response from ${new URL(url).origin}…`;
}

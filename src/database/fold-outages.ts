import type { LogFn } from 'pino';
import { EgressError } from '../egress/egress-error.ts';
import { faultCode, unavailability } from './unavailable.ts';

/** The minimum time between two lines about the same fault. */
const FOLD_MILLISECONDS = 10_000;
const MAX_CAUSES = 8;

/** When a line was last written, and how many copies of it have been left out since then. */
type Line = { writtenAt: number; leftOut: number };

/**
 * Limits how many lines a database outage adds to the log. Requests and loops can run into the same fault many times a
 * second, so a line with the same message and the same type of fault is written at most once every 10 s. In the next
 * one, `leftOut` is the number of lines that were left out in between. All other lines are written unchanged, including those
 * about servers other than the database: if one seller's can't be reached, that must not hide another's.
 *
 * @param now a monotonic clock in milliseconds.
 * @returns a hook for Pino: https://getpino.io/#/docs/api?id=logmethod
 */
export function foldOutages(now: () => number = () => performance.now()) {
  const lines = new Map<string, Line>();

  return function logMethod(this: unknown, args: Parameters<LogFn>, method: LogFn): void {
    const [fields, message] = args as [{ err?: unknown } | undefined, string | undefined];
    const write = (...changed: unknown[]) => void method.apply(this as never, changed as never);
    if (!fields?.err || isOfOtherServer(fields.err) || !unavailability(fields.err)) {
      write(...args);
      return;
    }
    const key = `${message} ${faultCode(fields.err)}`;
    const line = lines.get(key);
    if (line && now() - line.writtenAt < FOLD_MILLISECONDS) {
      line.leftOut += 1;
      return;
    }
    lines.set(key, { writtenAt: now(), leftOut: 0 });
    write(line?.leftOut ? { ...fields, leftOut: line.leftOut } : fields, message);
  };
}

function isOfOtherServer(error: unknown): boolean {
  let one = error;
  for (let depth = 0; one instanceof Error && depth < MAX_CAUSES; depth++, one = one.cause) {
    if (one instanceof EgressError) return true;
  }
  return false;
}

import { AppError } from '../errors.ts';
import { isStalePlan } from './stale-plans.ts';

/**
 * Codes for temporary PostgreSQL errors, or their classes (the first two characters):
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const PASSING: ReadonlySet<string> = new Set([
  '08', // connection failed
  '53', // disk full, out of memory, too many connections
  '58', // operating system error
  '57P01', // shutting down
  '57P02', // stopping after a crash
  '57P03', // starting up
  '57P05', // session idle for too long
  '25006', // read-only: a standby, or set to read-only
  '57014', // statement timeout
  '55P03', // lock timeout
  '25P03', // transaction idle for too long
  '40001',
  '40P01', // serialization failure or deadlock
]);

/** Connection errors from the operating system. */
const SYSTEM = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'ETIMEDOUT', 'EPIPE', 'ENOTFOUND', 'EAI_AGAIN'],
  ...['EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN', 'EHOSTDOWN'],
]);

/**
 * Prisma's codes: unreachable, timed out, closed; connection or transaction timeout; write conflict; too many
 * connections.
 */
const PRISMA = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028', 'P2034', 'P2037']);

/** Errors from Prisma's adapter that have no code. */
const KINDS = new Set([
  ...['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TooManyConnections', 'TransactionWriteConflict'],
  ...['TlsConnectionError', 'TransactionAlreadyClosed'],
]);

/** Driver messages that have no code, for connections that were closed or never opened. */
const DRIVER =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed|Query read timeout|Cannot use a pool after calling end)/;

/** Unlike Prisma's codes and those of the operating system, such as `EPIPE`, PostgreSQL's have a digit in them. */
const SQLSTATE = /^(?=.*\d)(?!P[12])[0-9A-Z]{5}$/;

const RETRY_AFTER_SECONDS = 1;
const MAX_CAUSES = 8;

/**
 * The `UNAVAILABLE` error for a database that is temporarily unreachable, shutting down, out of space, read-only, or
 * just migrated. Undefined for all other errors, which are bugs in this service.
 */
export function unavailability(error: unknown): AppError | undefined {
  if (!causesOf(error).some(isPassing)) return undefined;
  return new AppError('UNAVAILABLE', { retryAfterSeconds: RETRY_AFTER_SECONDS, cause: error });
}

/** The PostgreSQL code of an error or its cause, such as `57014`. Undefined if a connection was lost or never opened. */
export function faultCode(error: unknown): string | undefined {
  const codes = causesOf(error).flatMap(({ code, originalCode }) => [code, originalCode]);
  return codes.find((code): code is string => typeof code === 'string' && SQLSTATE.test(code));
}

type Fault = {
  code?: unknown;
  originalCode?: unknown;
  kind?: unknown;
  message?: unknown;
  routine?: unknown;
  cause?: unknown;
  errors?: unknown;
  meta?: { driverAdapterError?: unknown };
};

/**
 * An error and its causes. Prisma wraps its adapter's error, which wraps the driver's, and Node combines the errors
 * from several addresses.
 */
function causesOf(error: unknown): Fault[] {
  const found: Fault[] = [];
  const waiting = [error];
  while (waiting.length > 0 && found.length < MAX_CAUSES) {
    const next = waiting.shift();
    if (typeof next !== 'object' || next === null) continue;
    const fault = next as Fault;
    found.push(fault);
    waiting.push(fault.cause, fault.meta?.driverAdapterError, ...(Array.isArray(fault.errors) ? fault.errors : []));
  }
  return found;
}

function isPassing({ code, originalCode, kind, message, routine }: Fault): boolean {
  return (
    [code, originalCode].some((each) => typeof each === 'string' && isPassingCode(each)) ||
    (typeof kind === 'string' && KINDS.has(kind)) ||
    (typeof message === 'string' && DRIVER.test(message)) ||
    isStalePlan({ message, routine })
  );
}

function isPassingCode(code: string): boolean {
  if (SYSTEM.has(code) || PRISMA.has(code)) return true;
  return SQLSTATE.test(code) && (PASSING.has(code) || PASSING.has(code.slice(0, 2)));
}

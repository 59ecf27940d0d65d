import { AppError } from '../errors.ts';

/**
 * What PostgreSQL says when it cannot do now what it could at another time, by code or by the class that is its first two
 * characters: https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const PASSING: ReadonlySet<string> = new Set([
  '08', // the connection failed
  '53', // the disk is full, no memory, too many connections
  '58', // the operating system fails
  '57P01', // shuts down
  '57P02', // ends after a crash
  '57P03', // starts up
  '57P05', // the session had nothing to do for too long
  '25006', // takes no changes: a standby, or set so
  '57014', // a statement took too long
  '55P03', // a lock was not given up in time
  '25P03', // a transaction had nothing to do for too long
  '40001',
  '40P01', // others had to go first
]);

/** What the operating system says of connections. */
const SYSTEM = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'ETIMEDOUT', 'EPIPE', 'ENOTFOUND', 'EAI_AGAIN'],
  ...['EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN', 'EHOSTDOWN'],
]);

/**
 * What Prisma says: not reached, timed out, closed; no connection, or no end of a transaction, in time; given way to
 * another; too many connections.
 */
const PRISMA = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028', 'P2034', 'P2037']);

/** What Prisma's adapter says in place of a code. */
const KINDS = new Set([
  ...['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TooManyConnections', 'TransactionWriteConflict'],
  ...['TlsConnectionError', 'TransactionAlreadyClosed'],
]);

/** What the driver says of connections that ended or could not be made, without a code. */
const DRIVER =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed|Query read timeout|Cannot use a pool after calling end)/;

const RETRY_AFTER_SECONDS = 1;
const MAX_CAUSES = 8;

/**
 * The error of the catalogue for a database that cannot serve now: it cannot be reached, is shutting down, has no room, or
 * takes no changes. Undefined for all else, which is a fault of ours.
 */
export function unavailability(error: unknown): AppError | undefined {
  if (!causesOf(error).some(isPassing)) return undefined;
  return new AppError('UNAVAILABLE', { retryAfterSeconds: RETRY_AFTER_SECONDS, cause: error });
}

type Fault = {
  code?: unknown;
  originalCode?: unknown;
  kind?: unknown;
  message?: unknown;
  cause?: unknown;
  errors?: unknown;
  meta?: { driverAdapterError?: unknown };
};

/** An error and what it was made of: Prisma wraps its adapter's, which wraps the driver's; Node gathers those of several addresses. */
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

function isPassing({ code, originalCode, kind, message }: Fault): boolean {
  return (
    [code, originalCode].some((each) => typeof each === 'string' && isPassingCode(each)) ||
    (typeof kind === 'string' && KINDS.has(kind)) ||
    (typeof message === 'string' && DRIVER.test(message))
  );
}

function isPassingCode(code: string): boolean {
  if (SYSTEM.has(code) || PRISMA.has(code)) return true;
  return /^[0-9A-Z]{5}$/.test(code) && (PASSING.has(code) || PASSING.has(code.slice(0, 2)));
}

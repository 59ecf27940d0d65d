import type pg from 'pg';
import type { PrismaClient } from '../generated/prisma/client.ts';
import { requireMember } from '../library-member.ts';
import { beginChange, runScheduled } from '../operation.ts';
import { type CommitTransaction, currentRequest } from '../request-context.ts';

/** A statement that changes something. Locking reads (`FOR UPDATE`) and hints (`SELECT pg_notify(…)`) don't count. */
const CHANGES = /\b(INSERT\s+INTO|UPDATE\s+(ONLY\s+)?["\w]+\s+(AS\s+\w+\s+)?SET|UPDATE\s+"|DELETE\s+FROM)/i;
/** The name of a statement, after its first word. */
const NAME = /\/\*.*?\*\/\s/;

/** Whether a statement changes something. */
export const isChange = (text: string): boolean => CHANGES.test(text.replace(NAME, ''));

type Statement = string | { text?: string };

/**
 * Enforces an operation's deadline and its place in the queue. After the deadline, no statement starts and no change is
 * committed, and the operation knows whether a change was committed before then. Every statement or transaction waits
 * in the operation's queue.
 */
export function enforceDeadlines(pool: pg.Pool, prisma: PrismaClient): void {
  requireMember('@prisma/client 7.10.0', prisma, '$transaction');
  requireMember('pg 8.23.1', pool, 'query');
  requireMember('pg 8.23.1', pool, 'connect');
  enforceInTransactions(prisma);
  enforceInStatements(pool);
  enforceInConnections(pool);
}

/** Rolls back a transaction if the deadline passes before its commit. */
function enforceInTransactions(prisma: PrismaClient): void {
  const transact = prisma.$transaction.bind(prisma) as (work: unknown, options?: unknown) => Promise<unknown>;
  const enforced = (work: unknown, options?: unknown) => runScheduled(() => commitInTime(work, options));
  const commitInTime = async (work: unknown, options: unknown): Promise<unknown> => {
    if (typeof work !== 'function') return transact(work, options);
    let change: ReturnType<typeof beginChange>;
    const outcome = transact(async (tx: unknown) => {
      const result = await work(tx);
      await currentRequest()?.beforeCommit?.(tx as CommitTransaction);
      // The next statement is the commit.
      change = beginChange();
      return result;
    }, options);
    return outcome.catch((error) => {
      throw change ? change.uncertain(error) : error;
    });
  };
  Object.assign(prisma, { $transaction: enforced });
}

/** A statement outside a transaction is a separate change. Prisma's statements also pass through here. */
function enforceInStatements(pool: pg.Pool): void {
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<pg.QueryResult>;
  const enforced = (...args: unknown[]) => runScheduled(() => changeInTime(args));
  const changeInTime = async (args: unknown[]): Promise<pg.QueryResult> => {
    const change = isChange(textOf(args[0] as Statement)) ? beginChange() : undefined;
    if (!change) return query(...args);
    try {
      const result = await query(...args);
      if (result.rowCount === 0) change.undone();
      return result;
    } catch (error) {
      if (!isRefusal(error)) throw change.uncertain(error);
      change.undone();
      throw error;
    }
  };
  Object.assign(pool, { query: enforced });
}

/**
 * A connection that an operation takes for itself keeps its place in the queue until it is released. Prisma takes one to
 * send several reads as a batch. The pool itself connects with a callback, for statements that already have a place.
 */
function enforceInConnections(pool: pg.Pool): void {
  const connect = pool.connect.bind(pool) as (...args: unknown[]) => Promise<pg.PoolClient>;
  const inTurn = () =>
    new Promise<pg.PoolClient>((resolve, reject) => {
      runScheduled(async () => {
        const client = await connect();
        const { release } = client;
        await new Promise<void>((onReleased) => {
          client.release = (...args) => {
            onReleased();
            release.apply(client, args);
          };
          resolve(client);
        });
      }).catch(reject);
    });
  Object.assign(pool, { connect: (...args: unknown[]) => (args.length > 0 ? connect(...args) : inTurn()) });
}

const textOf = (statement: Statement) => (typeof statement === 'string' ? statement : (statement.text ?? ''));

/** Whether the server rejected the statement and is still running. If so, nothing was changed. */
function isRefusal(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !/^(08|57P)/.test(code);
}

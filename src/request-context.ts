import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** What any code that handles a request can read about it. Log lines and error responses contain the ID. */
export type RequestContext = {
  requestId: string;
  /** The program that sent the request, as it names itself in `Tollgate-Client`. */
  client?: string | undefined;
  /** Collects the projects that the request changes, if anyone needs to know. */
  changedProjects?: Set<string> | undefined;
  /** Runs in every transaction, right before it is committed. If it throws, the transaction is rolled back. */
  beforeCommit?: CommitHook | undefined;
};

/** The part of Prisma's transactions that a hook needs. */
export type CommitTransaction = { $executeRawUnsafe(text: string, ...values: unknown[]): PromiseLike<number> };
export type CommitHook = (tx: CommitTransaction) => Promise<void>;

const storage = new AsyncLocalStorage<RequestContext>();

export function runInRequest<T>(context: RequestContext, run: () => T): T {
  return storage.run(context, run);
}

export function currentRequest(): RequestContext | undefined {
  return storage.getStore();
}

const CLIENT = /^[\w.-]{1,32}(\/[\w.-]{1,64})?$/;

/** The program's name for itself from `Tollgate-Client`, such as `mcp/list_payments`. Anything else is ignored. */
export function clientOf({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const given = headers['tollgate-client'];
  return typeof given === 'string' && CLIENT.test(given) ? given : undefined;
}

const REQUEST_ID = /^[\w.-]{8,64}$/;

/** The request's own ID from `X-Request-Id`, or a new one. */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : `req_${randomUUID()}`;
}

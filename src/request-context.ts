import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** What every log line and error response for a request contains. */
export type RequestContext = { requestId: string };

const storage = new AsyncLocalStorage<RequestContext>();

export function runInRequest<T>(context: RequestContext, run: () => T): T {
  return storage.run(context, run);
}

export function currentRequest(): RequestContext | undefined {
  return storage.getStore();
}

const REQUEST_ID = /^[\w.-]{8,64}$/;

/** The request's own ID from `X-Request-Id`, or a new one. */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : `req_${randomUUID()}`;
}

import type { Readable } from 'node:stream';
import type { AppErrorOptions, ErrorCode } from '../../errors.ts';
import { AppError } from '../../errors.ts';
import type { Headers } from './headers.ts';

/** The complete response to a buyer. */
export type GatewayResponse = { statusCode: number; headers: Headers; body: Buffer | string };

/** A response that is sent while the upstream is still sending it. */
export type StreamedResponse = {
  statusCode: number;
  headers: Headers;
  body: Readable;
  /** Resolves when the response has ended in any way and its end is recorded. */
  ended: Promise<void>;
};

export type PaidResponse = GatewayResponse | StreamedResponse;

/** An error from the catalog, with headers that tell the buyer about the payment. */
export function refusal(
  code: ErrorCode,
  headers: Record<string, string>,
  options: Pick<AppErrorOptions, 'detail' | 'retryAfterSeconds' | 'cause'> = {},
): AppError {
  return new AppError(code, { ...options, headers });
}

/** Resolves when a request has ended. With a streamed response, that is when the end of the response is recorded. */
export function endOf(response: Promise<PaidResponse>): Promise<void> {
  return response.then((paid) => ('ended' in paid ? paid.ended : undefined)).catch(() => {});
}

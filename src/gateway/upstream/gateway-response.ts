import type { AppErrorOptions, ErrorCode } from '../../errors.ts';
import { AppError } from '../../errors.ts';
import type { Headers } from './headers.ts';

/** The complete response to a buyer. */
export type GatewayResponse = { statusCode: number; headers: Headers; body: Buffer | string };

/** An error from the catalog, with headers that tell the buyer about the payment. */
export function refusal(
  code: ErrorCode,
  headers: Record<string, string>,
  options: Pick<AppErrorOptions, 'detail' | 'retryAfterSeconds' | 'cause'> = {},
): AppError {
  return new AppError(code, { ...options, headers });
}

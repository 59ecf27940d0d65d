import type { AppErrorOptions, ErrorCode } from '../../errors.ts';
import { AppError } from '../../errors.ts';
import type { Headers } from './headers.ts';

/** What a buyer is answered, whole. */
export type GatewayAnswer = { statusCode: number; headers: Headers; body: Buffer | string };

/** An error of the catalogue, with what the buyer is told about the payment in headers. */
export function refusal(
  code: ErrorCode,
  headers: Record<string, string>,
  options: Pick<AppErrorOptions, 'detail' | 'retryAfterSeconds' | 'cause'> = {},
): AppError {
  return new AppError(code, { ...options, headers });
}

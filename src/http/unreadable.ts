import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { AppError, type ErrorCode } from '../errors.ts';
import { LINGER_MILLISECONDS } from './linger.ts';
import { isResponding } from './pipelines.ts';
import { PROBLEM_MEDIA_TYPE, toProblem } from './problem.ts';

/** Errors from Node's HTTP parser and its timers. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
};

/**
 * Responds to bytes that never became a request, and closes the connection. There is no path or request object.
 *
 * @param lingerMilliseconds how long the client may take to close its side. Until the connection is closed, earlier requests
 *   on it continue, although their responses can't be sent anymore.
 */
export function respondToUnreadable(
  error: Error & { code?: string },
  socket: Socket,
  publicUrl: string | undefined,
  lingerMilliseconds: number = LINGER_MILLISECONDS,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  if (isResponding(socket)) {
    socket.destroySoon();
    return;
  }
  const appError = new AppError(CODES[error.code ?? ''] ?? 'BAD_REQUEST');
  const requestId = `req_${randomUUID()}`;
  const body = JSON.stringify(toProblem(appError, { instance: '', requestId, publicUrl }));
  const head = [
    `HTTP/1.1 ${appError.status} ${STATUS_CODES[appError.status]}`,
    'Connection: close',
    `Content-Type: ${PROBLEM_MEDIA_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  const timer = setTimeout(() => socket.destroy(), lingerMilliseconds).unref();
  socket.once('close', () => clearTimeout(timer));
}

import type { IncomingMessage } from 'node:http';
import { AppError } from '../../errors.ts';
import type { ResponseMemory } from '../upstream/call.ts';
import { refusal } from '../upstream/gateway-response.ts';
import { hasBody, InterruptedRequest, meterBody } from '../upstream/request-body.ts';

/** Common MCP servers read at most 4 MB. Images and audio that are sent to tools are larger than other messages. */
const MAX_MESSAGE_BYTES = 1024 * 1024;

/**
 * Reads the body of a POST to an MCP endpoint.
 *
 * @param memory the request's share of the response memory, which the body counts toward.
 * @throws AppError `UNSUPPORTED_MEDIA_TYPE` if it isn't plain JSON, `PAYLOAD_TOO_LARGE`, `UNAVAILABLE` if there is no
 *   memory for it, or `BAD_REQUEST` if there is no body, or only part of it.
 */
export async function readPost(request: IncomingMessage, memory: ResponseMemory): Promise<Buffer> {
  checkType(request.headers);
  if (!hasBody(request)) throw new AppError('BAD_REQUEST', { detail: 'The request has no body.' });
  if (Number(request.headers['content-length'] ?? 0) > MAX_MESSAGE_BYTES) throw tooLarge();
  const body = meterBody(request);
  memory.mayDrop(() => body.destroy(noMemory()));
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > MAX_MESSAGE_BYTES) throw tooLarge();
      if (!memory.take(chunk.length)) throw noMemory();
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof InterruptedRequest) throw new AppError('BAD_REQUEST', { cause: error });
    throw error;
  }
  return Buffer.concat(chunks);
}

/** Otherwise, the upstream could decode the body differently than the gateway does, and read a different message. */
function checkType({ 'content-type': type = '', 'content-encoding': encoding }: IncomingMessage['headers']): void {
  if (!/^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i.test(type)) {
    const detail = 'Send the message as `Content-Type: application/json`, in UTF-8.';
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', { detail });
  }
  if (encoding !== undefined) {
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', { detail: 'Send the message without a `Content-Encoding`.' });
  }
}

/** The error for a message that there is no memory for. */
export function noMemory(): AppError {
  return refusal('UNAVAILABLE', {}, { retryAfterSeconds: 1 });
}

function tooLarge(): AppError {
  return new AppError('PAYLOAD_TOO_LARGE', {
    detail: `The message is larger than ${MAX_MESSAGE_BYTES / 1024 / 1024} MB. You weren't charged.`,
  });
}

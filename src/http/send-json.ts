import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Backlogs } from '../limits/backlog.ts';
import { resetConnection } from './reset-connection.ts';
import { sendStream } from './send-stream.ts';

/** Up to this size, a response fits into the buffers of its connection. */
const SMALL_BYTES = 64 * 1024;
const CHUNK_BYTES = 64 * 1024;

/**
 * Sends a response whose status and headers are set. A large one counts as waiting data of the caller's account until
 * the client has read it, and is cut off if the client doesn't.
 */
export async function sendJson(request: FastifyRequest, reply: FastifyReply, text: string, backlogs: Backlogs) {
  // A response that is closed emits no more events, so nothing may wait for it.
  if (request.method === 'HEAD' || text.length <= SMALL_BYTES || reply.raw.closed) return reply.send(text);
  const body = Buffer.from(text);
  reply.hijack();
  const { raw } = reply;
  const cut = () => resetConnection(raw);
  const drop = () => {
    cut();
    return 0;
  };
  const backlog = backlogs.open(request.viewer!.userId, { drop, cut });
  raw.once('close', backlog.close);
  raw.writeHead(reply.statusCode, {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    'content-length': body.length,
  });
  // The whole body stays in memory until its end has been sent.
  backlog.reserve(body.length);
  const reserved = { reserve: () => () => {}, drop: backlog.drop };
  await sendStream(chunksOf(body), raw, { backlog: reserved, log: request.log as Logger });
  return reply;
}

async function* chunksOf(body: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; at += CHUNK_BYTES) yield body.subarray(at, at + CHUNK_BYTES);
}

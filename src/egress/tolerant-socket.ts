import { Socket } from 'node:net';
import { errors } from 'undici';
import { requireMember } from '../library-member.ts';
import { ResponseHeads } from './response-heads.ts';

/** How undici starts a request. It writes bodies as bytes, and nothing between their chunks looks like this. */
const REQUEST_HEAD = /^\S+ \S+ HTTP\/1\.1\r\n/;

/** The errors of a write if the server has closed the connection. */
const CLOSED: ReadonlySet<string> = new Set(['EPIPE', 'ECONNRESET']);

/** undici's error for a response whose headers are too long. */
const TOO_LONG = 'UND_ERR_HEADERS_OVERFLOW';

/**
 * How many bytes undici gets at the same time. It parses all of them, even if it has destroyed the socket at the first
 * one. This is as much as a TLS record can contain.
 */
const MAX_PARSED_BYTES = 16_384;

type Done = (error?: (Error & { code?: string }) | null) => void;

/** Checks that sockets have the functions that `tolerant` replaces. */
export function requireSocketFunctions(): void {
  for (const name of ['_write', '_writev']) requireMember('node 24.21.0', Socket.prototype, name);
}

/**
 * Changes a connected socket so that undici gets responses that it would lose otherwise:
 *
 * - Responses that come after a `100 Continue` that no request asked for; see `ResponseHeads`.
 * - Responses that a server sends before it has read the whole request, after which it closes the connection (RFC 9112
 *   §9.3, §9.6). The response is already in this machine's receive buffer, but Node destroys the socket as soon as a
 *   write fails. Here, such a write remains unfinished instead, so the response is read first. Nothing waits for it
 *   forever: after an EPIPE or ECONNRESET, the connection no longer exists, so reading from it ends or fails, and
 *   then undici destroys the socket.
 *
 * It also keeps servers from holding up the process with long headers, or with thousands of short ones; see
 * `captureNoStackTraces` and `ResponseHeads`.
 *
 * @returns the same socket.
 */
export function tolerant<S extends Socket>(socket: S): S {
  const read = socket.read.bind(socket);
  const write = socket._write.bind(socket);
  const writeMany = socket._writev!.bind(socket);
  const destroy = socket.destroy.bind(socket);
  const heads = new ResponseHeads();

  function noteRequest(chunk: unknown): void {
    if (typeof chunk === 'string' && REQUEST_HEAD.test(chunk)) heads.expectResponse();
  }

  return Object.assign(socket, {
    read(size?: number): Buffer | null {
      if (socket.destroyed) return null;
      const most = Math.min(socket.readableLength, MAX_PARSED_BYTES);
      const bytes: Buffer | null = read(size ?? (most || undefined));
      if (!bytes || heads.apply(bytes)) return bytes;
      destroy(new errors.HeadersOverflowError());
      return null;
    },
    _write(chunk: unknown, encoding: BufferEncoding, done: Done): void {
      noteRequest(chunk);
      write(chunk, encoding, unlessClosed(done));
    },
    _writev(chunks: { chunk: unknown; encoding: BufferEncoding }[], done: Done): void {
      for (const { chunk } of chunks) noteRequest(chunk);
      writeMany(chunks, unlessClosed(done));
    },
    destroy(error?: Error): S {
      if ((error as NodeJS.ErrnoException | undefined)?.code === TOO_LONG) captureNoStackTraces();
      return destroy(error);
    },
  });
}

/**
 * Captures no stack traces until the current bytes are parsed. After the first header that is too much, undici destroys
 * the socket, but it makes another error for each of the thousands of headers that may follow in the same bytes.
 * With their stack traces, that would take more than 100 ms, and many such responses can arrive at the same time.
 */
function captureNoStackTraces(): void {
  const limit = Error.stackTraceLimit;
  if (limit === 0) return;
  Error.stackTraceLimit = 0;
  queueMicrotask(() => {
    Error.stackTraceLimit = limit;
  });
}

function unlessClosed(done: Done): Done {
  return (error) => {
    if (!error || !CLOSED.has(error.code ?? '')) done(error);
  };
}

import { Socket } from 'node:net';
import { requireMember } from '../library-member.ts';
import { SkipContinue } from './skip-continue.ts';

/** How undici starts a request. It writes bodies as bytes, and nothing between their chunks looks like this. */
const REQUEST_HEAD = /^\S+ \S+ HTTP\/1\.1\r\n/;

/** The errors of a write if the server has closed the connection. */
const CLOSED: ReadonlySet<string> = new Set(['EPIPE', 'ECONNRESET']);

/** undici's error for a response whose headers are too long. */
const TOO_LONG = 'UND_ERR_HEADERS_OVERFLOW';

type Done = (error?: (Error & { code?: string }) | null) => void;

/** Checks that sockets have the functions that `tolerant` replaces. */
export function requireSocketFunctions(): void {
  for (const name of ['_write', '_writev']) requireMember('node 24.21.0', Socket.prototype, name);
}

/**
 * Changes a connected socket so that undici gets responses that it would lose otherwise:
 *
 * - Responses that come after a `100 Continue` that no request asked for; see `SkipContinue`.
 * - Responses that a server sends before it has read the whole request, after which it closes the connection (RFC 9112
 *   §9.3, §9.6). The response is already in this machine's receive buffer, but Node destroys the socket as soon as a
 *   write fails. Here, such a write remains unfinished instead, so the response is read first. Nothing waits for it
 *   forever: after an EPIPE or ECONNRESET, the connection no longer exists, so reading from it ends or fails, and
 *   then undici destroys the socket.
 *
 * It also keeps servers from holding up the process with long headers; see `captureNoStackTraces`.
 *
 * @returns the same socket.
 */
export function tolerant<S extends Socket>(socket: S): S {
  const read = socket.read.bind(socket);
  const write = socket._write.bind(socket);
  const writeMany = socket._writev!.bind(socket);
  const destroy = socket.destroy.bind(socket);
  const skipContinue = new SkipContinue();

  function noteRequest(chunk: unknown): void {
    if (typeof chunk === 'string' && REQUEST_HEAD.test(chunk)) skipContinue.expectResponse();
  }

  return Object.assign(socket, {
    read(size?: number): Buffer | null {
      const bytes: Buffer | null = read(size);
      if (bytes) skipContinue.apply(bytes);
      return bytes;
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

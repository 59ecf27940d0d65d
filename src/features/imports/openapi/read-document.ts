import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { invalidField } from '../../../errors.ts';
import { OPERATION_MILLISECONDS } from '../../../operation.ts';
import { type ApiDocument, LIMITS } from './document.ts';
import { createReadingSlots, notReadInTime, notStarted } from './reading-slots.ts';

/** What the program returns: the document, or the reason why it isn't valid. */
export type Outcome = { document: ApiDocument } | { message: string };

/** Who sent a document, and how long the request can wait. */
export type Sender = {
  /** The field that the document came from. */
  pointer: string;
  accountId: string;
  /** Aborts when nobody is waiting for the document anymore. */
  signal: AbortSignal;
};

/**
 * Reads a document's text.
 *
 * @throws AppError `VALIDATION_FAILED` for the field that it came from, `RATE_LIMITED` if the account has too many
 *   documents, or `UNAVAILABLE` if too many are waiting or if the signal aborts first
 */
export type ReadDocument = (document: string, sender: Sender) => Promise<ApiDocument>;

// In the production build, this file is part of a bundle, and the program's bundle is next to it.
const PROGRAM = fileURLToPath(new URL(`./openapi-reader${extname(import.meta.filename)}`, import.meta.url));
export const MAX_HEAP_MEGABYTES = 256;
// The title, the servers, and the problems need much less than the added megabyte.
const MAX_OUTPUT_BYTES = LIMITS.operationsBytes + 1024 * 1024;
/** The share of an operation's time that reading a document may take. */
const MAX_SHARE = 0.4;

/**
 * Creates a function that reads each document in a separate process. Parsing a large document takes a second, and this
 * process may be handling payments at the same time. A hostile document can also exhaust the heap, which crashes the
 * process that reads it. (If a thread read the document, that would take down this whole process.)
 */
export function createReadDocument(
  limits: { operationMilliseconds?: number; heapMegabytes?: number; outputBytes?: number } = {},
): ReadDocument {
  const { operationMilliseconds = OPERATION_MILLISECONDS, heapMegabytes = MAX_HEAP_MEGABYTES } = limits;
  const { outputBytes = MAX_OUTPUT_BYTES } = limits;
  const slots = createReadingSlots();

  async function outcomeOf(document: string, signal: AbortSignal): Promise<Outcome> {
    // The program doesn't get the secrets in the environment.
    const child = spawn(process.execPath, [`--max-old-space-size=${heapMegabytes}`, PROGRAM], {
      env: {},
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    // Rejects if the program can't be started, for example, because this process has no file descriptors left. Without
    // a listener, that error would end this process.
    const closed = once(child, 'close');
    // Then there may be no streams either.
    if (child.pid === undefined) throw notStarted(await closed.catch((error: unknown) => error));
    const stop = () => child.kill('SIGKILL');
    signal.addEventListener('abort', stop, { once: true });
    let isLate = false;
    let timer: NodeJS.Timeout | undefined;
    const chunks: Buffer[] = [];
    let receivedBytes = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      receivedBytes += chunk.length;
      // The program limits its output itself. If that fails, this process still doesn't run out of memory.
      if (receivedBytes > outputBytes) return stop();
      if (chunks.push(chunk) > 1) return;
      // The child process has started to read. On a busy machine, getting this far can take seconds.
      timer = setTimeout(() => {
        isLate = true;
        stop();
      }, MAX_SHARE * operationMilliseconds);
    });
    // The program may end before it has received everything.
    child.stdin.on('error', () => {});
    child.stdin.end(document);
    try {
      const [exitCode] = await closed;
      if (signal.aborted) throw notReadInTime();
      if (isLate) return { message: 'The document takes too long to read. Split it into smaller documents.' };
      if (exitCode !== 0 || receivedBytes > outputBytes)
        return { message: 'Reading the document takes too much memory. Split it into smaller documents.' };
      return JSON.parse(Buffer.concat(chunks).toString()) as Outcome;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    }
  }

  return async (document, { pointer, accountId, signal }) => {
    // Rejects an oversized document without starting a process.
    if (Buffer.byteLength(document) > LIMITS.documentBytes) throw invalidField(pointer, 'Must be at most 5 MB.');
    const leave = await slots.take(accountId, signal);
    try {
      const outcome = await outcomeOf(document, signal);
      if ('message' in outcome) throw invalidField(pointer, outcome.message);
      return outcome.document;
    } finally {
      leave();
    }
  };
}

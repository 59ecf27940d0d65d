import { write, writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';

const GATHER_MILLISECONDS = 50;
/** If the reader of a pipe is slow. */
const RETRY_MILLISECONDS = 100;
/** Shorter, because the process waits: a pipe takes only 64 KB at a time. */
const RETRY_AT_EXIT_MILLISECONDS = 10;
const MAX_MILLISECONDS_AT_EXIT = 5_000;
/** If nobody reads the log, it must not use up the memory. */
const MAX_WAITING_CHARACTERS = 2 ** 24;
const NEWLINE = 0x0a;

export type LogOutput = DestinationStream & {
  /** How many lines have been lost since the start, because they couldn't be written. */
  lostLines(): number;
};

/**
 * Writes lines to a file or a pipe with one system call for many lines, because a call per line would cost more than the
 * line itself. Any remaining lines are written when the process exits.
 *
 * Lines that can't be written, for example, because the disk is full, are lost, and the process continues. Once lines
 * can be written again, one of them says how many are missing: docs/decisions/0075-log-output.md.
 *
 * @param fd an open file descriptor. If it is a pipe, it must not block: while nobody reads it, the process couldn't exit.
 */
export function openLogOutput(fd: number): LogOutput {
  let lines: string[] = [];
  let waitingCharacters = 0;
  let isWriting = false;
  /** Bytes that wait for a slow reader. */
  let waiting: Buffer = Buffer.alloc(0);
  /** Whether the last line that was written is complete. */
  let isComplete = true;
  let lost = 0;
  let reported = 0;

  function append(line: string): void {
    if (waitingCharacters + line.length > MAX_WAITING_CHARACTERS) {
      lost += 1;
      return;
    }
    waitingCharacters += line.length;
    if (lines.push(line) === 1 && !isWriting) setTimeout(writeLines, GATHER_MILLISECONDS);
  }

  function take(): Buffer {
    const isContinued = isComplete || waiting.length > 0;
    const bytes = Buffer.from(`${isContinued ? '' : '\n'}${lines.join('')}`);
    lines = [];
    waitingCharacters = 0;
    return bytes;
  }

  function writeLines(): void {
    isWriting = true;
    writeBytes(take());
  }

  function writeBytes(bytes: Buffer): void {
    waiting = Buffer.alloc(0);
    write(fd, bytes, (error, count) => {
      if (error && isBusy(error)) {
        waiting = bytes;
        setTimeout(writeBytes, RETRY_MILLISECONDS, bytes);
        return;
      }
      if (error) {
        lose(bytes);
      } else {
        isComplete = bytes[count - 1] === NEWLINE;
        if (count < bytes.length) return writeBytes(bytes.subarray(count));
        report();
      }
      isWriting = false;
      if (lines.length > 0) setTimeout(writeLines, GATHER_MILLISECONDS);
    });
  }

  function lose(bytes: Buffer): void {
    // A newline at the start only ends a line that has been written.
    const start = bytes[0] === NEWLINE ? 1 : 0;
    for (const byte of bytes.subarray(start)) if (byte === NEWLINE) lost += 1;
  }

  function report(): void {
    if (lost === reported) return;
    reported = lost;
    const fields = { level: 'warn', time: new Date().toISOString(), lines: lost };
    lines.unshift(`${JSON.stringify({ ...fields, msg: 'log lines could not be written since the start' })}\n`);
  }

  process.once('exit', () => {
    let bytes = Buffer.concat([waiting, take()]);
    const until = performance.now() + MAX_MILLISECONDS_AT_EXIT;
    while (bytes.length > 0 && performance.now() < until) {
      try {
        bytes = bytes.subarray(writeSync(fd, bytes));
      } catch (error) {
        if (!isBusy(error as NodeJS.ErrnoException)) return;
        pause(RETRY_AT_EXIT_MILLISECONDS);
      }
    }
  });
  return { write: append, lostLines: () => lost };
}

const isBusy = ({ code }: NodeJS.ErrnoException): boolean => code === 'EAGAIN' || code === 'EBUSY';

/** Stops the whole process, because timers don't run anymore while it exits. */
function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

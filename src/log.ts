import pino, { type DestinationStream, type Logger, type LoggerOptions } from 'pino';
import { currentRequest } from './request-context.ts';
import { MASK } from './secrets/mask.ts';

/** Field names that could put a credential into a log line, at the top level and one level down. */
const SECRET_FIELDS = [
  'authorization',
  'cookie',
  'secret',
  'previousSecret',
  'secretConfig',
  'secretCredentials',
  'clientSecret',
  'key',
  'token',
  'password',
  'apiKey',
  'accessToken',
  'upstreamUrl',
  'requestUrl',
];

const GATHER_MILLISECONDS = 50;

/** Structured logs: one JSON object per line, with the request ID and without credentials. */
export function createLog(level: string): Logger {
  const options: LoggerOptions = {
    level,
    redact: { paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.headers.${name}`]), censor: MASK },
    mixin: () => currentRequest() ?? {},
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    base: null,
  };
  return pino(options, openDestination());
}

/**
 * The log for the line about each request. Its fields can't contain credentials, and searching them would cost more than
 * the rest of the line.
 */
export function requestLogOf(log: Logger): Logger {
  return log.child({}, { redact: [] });
}

/**
 * Writes to standard output with one system call for many lines, because a call per line would cost more than the line
 * itself. Pino's own buffer measures its entire contents again for every line. Any remaining lines are written when the
 * process exits.
 */
function openDestination(): DestinationStream & { flushSync(): void } {
  const stdout = pino.destination({ dest: 1, sync: false });
  let lines: string[] = [];

  function hand(): void {
    if (lines.length > 0) stdout.write(lines.join(''));
    lines = [];
  }

  function flushSync(): void {
    hand();
    stdout.flushSync();
  }

  process.once('exit', flushSync);
  return {
    flushSync,
    write(line) {
      if (lines.push(line) === 1) setTimeout(hand, GATHER_MILLISECONDS);
    },
  };
}

import pino, { type Logger, type LoggerOptions } from 'pino';
import { currentRequest } from './http/request-context.ts';
import { MASK } from './secrets/redact.ts';

/** Names under which a credential could come into a log line, at the top and one level down. */
const SECRET_FIELDS = [
  'authorization',
  'cookie',
  'secret',
  'previousSecret',
  'secretConfig',
  'key',
  'token',
  'password',
  'apiKey',
  'accessToken',
];

/** Structured logs, one JSON object a line, with the id of the request and without credentials. */
export function createLog(level: string): Logger {
  const options: LoggerOptions = {
    level,
    redact: { paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.headers.${name}`]), censor: MASK },
    mixin: () => currentRequest() ?? {},
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    base: null,
  };
  // A system call a line would cost more than the line. What is not written yet when the process ends is written then.
  return pino(options, pino.destination({ dest: 1, sync: false, minLength: 4_096, periodicFlush: 50 }));
}

import pino, { type DestinationStream, type Logger, type LoggerOptions } from 'pino';
import { foldOutages } from './database/fold-outages.ts';
import { type LogOutput, openLogOutput } from './log-output.ts';
import { currentRequest, type RequestContext } from './request-context.ts';
import { MASK } from './secrets/mask.ts';

/** Field names that could put a credential into a log line, at the top level and one level down. */
const SECRET_FIELDS = [
  'authorization',
  'cookie',
  'secret',
  'previousSecret',
  'secretConfig',
  'secretCredentials',
  'secretUpstreamHeaders',
  'clientSecret',
  'key',
  'token',
  'password',
  'apiKey',
  'accessToken',
  'upstreamUrl',
  'requestUrl',
];

const STANDARD_OUTPUT = 1;
/** If the service takes this long to start, people need to see why. */
const BUFFER_MILLISECONDS = 30_000;

let standardOutput: LogOutput | undefined;

/** How many lines this process couldn't write to standard output, for example, because the disk was full. */
export const lostLogLines = (): number => standardOutput?.lostLines() ?? 0;

function openStandardOutput(): LogOutput {
  // If it is a pipe, Node makes it non-blocking when the stream is created.
  void process.stdout;
  standardOutput ??= openLogOutput(STANDARD_OUTPUT);
  return standardOutput;
}

/**
 * Structured logs: one JSON object per line, with the request ID and without credentials.
 *
 * @param destination gets the lines. Default: standard output.
 */
export function createLog(level: string, destination: DestinationStream = openStandardOutput()): Logger {
  const options: LoggerOptions = {
    level,
    redact: { paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.headers.${name}`]), censor: MASK },
    mixin: () => requestFields(currentRequest()),
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    base: null,
    hooks: { logMethod: foldOutages() },
  };
  return pino(options, destination);
}

function requestFields({ requestId, client }: Partial<RequestContext> = {}) {
  return { ...(requestId && { requestId }), ...(client && { client }) };
}

/** Lines below the level `warn`. */
const ROUTINE = /^\{"level":"(?:trace|debug|info)"/;

/**
 * Turns the lines of a log into human-readable text on standard output. Routine lines are buffered until `release` is
 * called, the process exits, or startup takes too long. That way, the information that people need at startup comes
 * first.
 */
export async function openTextDestination(): Promise<DestinationStream & { release(): void }> {
  // Loaded only in a terminal, because production doesn't need it.
  const { prettyFactory } = await import('pino-pretty');
  const toText = prettyFactory({
    colorize: process.stdout.hasColors?.() ?? false,
    translateTime: 'SYS:HH:MM:ss',
    singleLine: true,
  });
  // Synchronous, so that nothing is lost when the process exits. If nobody reads the log, the service keeps running.
  const stdout = pino.destination({ dest: STANDARD_OUTPUT, sync: true });
  stdout.on('error', () => {});
  const print = (line: string) => stdout.write(toText(line) ?? '');
  let buffered: string[] | undefined = [];

  function release(): void {
    buffered?.forEach(print);
    buffered = undefined;
  }

  process.once('exit', release);
  setTimeout(release, BUFFER_MILLISECONDS).unref();
  return {
    release,
    write(line) {
      if (buffered && ROUTINE.test(line)) buffered.push(line);
      else print(line);
    },
  };
}

/**
 * A logger for the one line that each request writes. It doesn't redact anything: the line's fields can't contain
 * credentials, and searching them would cost more than writing the rest of the line.
 */
export function requestLogOf(log: Logger): Logger {
  return log.child({}, { redact: [] });
}

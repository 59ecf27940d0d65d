import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceProcess } from '../support/service-process.ts';

const SAMPLE_MILLISECONDS = 500;
const RESPONSE_MILLISECONDS = 10_000;
const CHECKS = ['healthz', 'readyz'] as const;
const LOUD = new Set(['warn', 'error', 'fatal']);

export type Observation = {
  /** The statuses of the health check and the readiness check, in order, without repetitions. 0: no response. */
  healthz: number[];
  readyz: number[];
  /** How many of the clients' requests got each status. */
  responses: Map<string, number>;
  /** How often each message was logged at the level `warn` or above. */
  messages: Map<string, number>;
};

export type Observer = ReturnType<typeof observe>;

/** Watches the health, the responses, and the log of a process. */
export function observe(process: ServiceProcess) {
  let observation = empty();
  let logLength = readFileSync(process.log, 'utf8').length;
  let isStopping = false;

  async function sample(check: (typeof CHECKS)[number]): Promise<void> {
    while (!isStopping) {
      const signal = AbortSignal.timeout(RESPONSE_MILLISECONDS);
      const status = await fetch(`${process.url}/${check}`, { signal }).then(
        (response) => response.status,
        () => 0,
      );
      const statuses = observation[check];
      if (statuses.at(-1) !== status) statuses.push(status);
      await sleep(SAMPLE_MILLISECONDS);
    }
  }
  const sampling = Promise.all(CHECKS.map(sample));

  return {
    process,
    note(status: string): void {
      count(observation.responses, status);
    },
    /** The latest status of the readiness check. */
    readiness: () => observation.readyz.at(-1),
    /** What the process has done since the last call. */
    read(): Observation {
      const log = readFileSync(process.log, 'utf8');
      for (const message of messagesIn(log.slice(logLength))) count(observation.messages, message);
      logLength = log.length;
      const read = observation;
      observation = { ...empty(), healthz: read.healthz.slice(-1), readyz: read.readyz.slice(-1) };
      return read;
    },
    async stop(): Promise<void> {
      isStopping = true;
      await sampling;
    },
  };
}

const empty = (): Observation => ({ healthz: [], readyz: [], responses: new Map(), messages: new Map() });

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function messagesIn(log: string): string[] {
  return log.split('\n').flatMap((text) => {
    const line = parse(text);
    return line && LOUD.has(line.level) ? [line.msg] : [];
  });
}

/** Returns undefined for what isn't a complete line. */
function parse(text: string): { level: string; msg: string } | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { parseEgressAllow } from '../../src/egress/allow-list.ts';
import { createEgress, type Egress, type EgressOptions } from '../../src/egress/egress.ts';
import type { EgressError } from '../../src/egress/egress-error.ts';
import type { EgressRequest } from '../../src/egress/exchange.ts';

type LoggedRefusal = { fields: object; message: string };

export type TestEgress = Egress & {
  /** Sends a GET request with generous limits, which `changes` can override. */
  get: (url: string, changes?: Partial<EgressRequest>) => ReturnType<Egress['send']>;
  /** The error of a request that is expected to fail. */
  failureOf: (url: string, changes?: Partial<EgressRequest>) => Promise<EgressError>;
  /** All names that were looked up, in order. */
  lookups: string[];
  logged: LoggedRefusal[];
  warned: LoggedRefusal[];
  [Symbol.asyncDispose]: () => Promise<void>;
};

type TestEgressOptions = Omit<Partial<EgressOptions>, 'allow'> & { allow?: string };

/** An egress that resolves names only with the test's `lookup`. Without `lookup`, no name resolves. */
export function createTestEgress({
  allow = '',
  lookup = async () => [],
  ...options
}: TestEgressOptions = {}): TestEgress {
  const lookups: string[] = [];
  const warned: LoggedRefusal[] = [];
  const logged: LoggedRefusal[] = [];
  const egress = createEgress({
    ...options,
    allow: parseEgressAllow(allow),
    log: {
      debug: (fields, message) => void logged.push({ fields, message }),
      warn: (fields, message) => void warned.push({ fields, message }),
    },
    lookup: (hostname) => {
      lookups.push(hostname);
      return lookup(hostname);
    },
  });
  const limits = { timeoutMilliseconds: 20_000, maxResponseBytes: 65_536 };
  const get: TestEgress['get'] = (url, changes) =>
    egress.send({ method: 'GET', url, headers: {}, ...limits, ...changes });
  const failureOf: TestEgress['failureOf'] = (url, changes) =>
    get(url, changes).then(
      ({ statusCode }) => {
        throw new Error(`${url} responded with status ${statusCode}`);
      },
      (error: EgressError) => error,
    );
  return { ...egress, get, failureOf, lookups, logged, warned, [Symbol.asyncDispose]: egress.close };
}

/** A part of a fake server that takes at least this long. */
export const slowly = (milliseconds: number): Promise<void> => sleep(milliseconds);

/** Allow-list entries for servers on 127.0.0.1. */
export function loopback(...servers: { port: number }[]): string {
  return servers.map(({ port }) => `127.0.0.1/32:${port}`).join(',');
}

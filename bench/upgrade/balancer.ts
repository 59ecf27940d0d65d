import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

export type Backend = { name: string; role: 'api' | 'gateway'; url: string };
export type Balancer = Awaited<ReturnType<typeof startBalancer>>;

/**
 * A load balancer in front of the processes of both versions: it sends requests under `/gateway` to the gateways in
 * turn, and all others to the APIs in turn. Like any load balancer, it sends a request elsewhere if a process doesn't
 * accept the connection.
 *
 * @param options.onResponse is called for each response, with the name of the process and the status. 0: no response
 * @param options.allowedCodes are the codes of errors with the status 500 that don't count as faults
 */
export async function startBalancer({
  onResponse,
  allowedCodes = [],
}: {
  onResponse?: (name: string, status: number) => void;
  allowedCodes?: readonly string[];
} = {}) {
  let backends: readonly Backend[] = [];
  let turn = 0;
  const successes = new Map<string, number>();
  const faults = new Map<string, number>();
  const inFlight = new Map<string, number>();
  const agent = new Agent({ keepAlive: false });

  const inFlightOf = (name: string): number => inFlight.get(name) ?? 0;

  /** @param code is the code of the error, read only if the status is 500. */
  function note({ name }: Backend, { statusCode = 0, headers }: IncomingMessage, code: string): void {
    onResponse?.(name, statusCode);
    const isAllowed =
      statusCode < 500 ||
      (statusCode === 503 && headers['retry-after'] !== undefined) ||
      (statusCode === 500 && allowedCodes.includes(code));
    const counts = isAllowed ? successes : faults;
    const key = isAllowed ? name : `${name}: ${statusCode} ${code}`.trimEnd();
    if (!isAllowed || statusCode < 300) counts.set(key, (counts.get(key) ?? 0) + 1);
  }

  async function forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const role = incoming.url!.startsWith('/gateway/') ? 'gateway' : 'api';
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const able = backends.filter((backend) => backend.role === role);
    for (let tries = 0; tries < able.length; tries++) {
      const backend = able[turn++ % able.length]!;
      inFlight.set(backend.name, inFlightOf(backend.name) + 1);
      try {
        const response = await send(backend, incoming, Buffer.concat(chunks));
        if (!response) continue;
        const error = response.statusCode === 500 ? await text(response) : undefined;
        note(backend, response, /"code":\s*"(\w+)"/.exec(error ?? '')?.[1] ?? '');
        outgoing.writeHead(response.statusCode!, response.headers);
        if (error === undefined) await pipeline(response, outgoing);
        else outgoing.end(error);
        return;
      } finally {
        inFlight.set(backend.name, inFlightOf(backend.name) - 1);
      }
    }
    outgoing.writeHead(503, { 'retry-after': '1' }).end();
  }

  /**
   * Returns undefined if the process refuses the connection. If the process hangs up later, the client must decide what
   * to do.
   */
  function send(backend: Backend, { method, url, headers }: IncomingMessage, body: Buffer) {
    return new Promise<IncomingMessage | undefined>((resolve, reject) => {
      request(`${backend.url}${url}`, { agent, method: method!, headers: { ...headers, connection: 'close' } }, resolve)
        .once('error', (error: NodeJS.ErrnoException) =>
          error.code === 'ECONNREFUSED' ? resolve(undefined) : reject(error),
        )
        .end(body);
    });
  }

  const server = createServer((incoming, outgoing) => {
    forward(incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    use(next: readonly Backend[]): void {
      backends = next;
    },
    /** How many requests a process is working on. */
    inFlightOf,
    /** How many requests a process has responded to successfully. */
    successesOf: (name: string): number => successes.get(name) ?? 0,
    /** Server errors other than 503 with `Retry-After` and the allowed codes, by process, status, and code. */
    faults,
  };
}

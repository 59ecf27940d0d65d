import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { FacilitatorRequest } from '../../../src/gateway/chain/facilitator.ts';
import type { FacilitatorEndpoints } from '../../../src/sandbox/facilitator.ts';

type Operation = 'verify' | 'settle';

/** Replaces a response: it can forward to the real facilitator, respond itself, or leave the client waiting. */
export type Misbehaviour = (
  response: ServerResponse,
  real: () => Promise<unknown>,
  request: FacilitatorRequest,
) => void | Promise<void>;

export type FacilitatorServer = {
  url: string;
  /** The calls it received, in order. */
  calls: {
    operation: Operation;
    request: FacilitatorRequest;
    headers: Record<string, string | string[] | undefined>;
  }[];
  countOf(operation: Operation): number;
  /** Makes an operation misbehave until reset. */
  misbehave(operation: Operation, how: Misbehaviour | undefined): void;
  /** Stops listening, as if the service were down, and restarts on the same port. */
  goDown(): Promise<void>;
  comeUp(): Promise<void>;
  close(): Promise<void>;
};

/** The real facilitator over HTTP, with faults on demand. */
export async function startFacilitatorServer(endpoints: FacilitatorEndpoints): Promise<FacilitatorServer> {
  const calls: FacilitatorServer['calls'] = [];
  const faults = new Map<Operation, Misbehaviour>();

  const server = createServer(async (request, response) => {
    const answer = (value: unknown) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (request.url === '/supported') return answer(endpoints.supported());
    const operation = request.url?.slice(1) as Operation;
    const asked = (await json(request)) as FacilitatorRequest;
    calls.push({ operation, request: asked, headers: request.headers });
    const real = () => endpoints[operation](asked);
    const fault = faults.get(operation);
    if (fault) return fault(response, real, asked);
    real().then(answer, (error) => response.writeHead(500).end(String(error)));
  });
  const listen = async (port: number) => {
    // Removes its listener for errors, because the server comes up again and again.
    await once(server.listen(port, '127.0.0.1'), 'listening');
  };
  const stop = async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    countOf: (wanted) => calls.filter(({ operation }) => operation === wanted).length,
    misbehave(operation, how) {
      if (how) faults.set(operation, how);
      else faults.delete(operation);
    },
    goDown: stop,
    comeUp: () => listen(port),
    close: () => (server.listening ? stop() : Promise.resolve()),
  };
}

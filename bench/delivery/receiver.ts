/** A process that receives deliveries. It returns 200 after a while and records when each ID first arrived. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { now, serve } from '../support/child.ts';

export type ReceiverMethods = typeof methods;

/** When each ID first arrived, by the shared clock. */
let receipts = new Map<string, number>();
let repeats = 0;
let delay: number | 'never' = 0;

function receive(request: IncomingMessage, response: ServerResponse): void {
  const id = request.headers['webhook-id'] as string;
  if (receipts.has(id)) repeats++;
  else receipts.set(id, now());
  request.resume().on('end', () => {
    if (delay === 0) response.end();
    else if (delay !== 'never') setTimeout(() => response.end(), delay);
  });
}

const methods = {
  /** Listens on all addresses of the loopback network, so one process can act as many origins. */
  async listen(delayMilliseconds: number | 'never'): Promise<number> {
    delay = delayMilliseconds;
    const server = createServer(receive);
    server.keepAliveTimeout = 60_000;
    await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', 4_096, resolve));
    return (server.address() as AddressInfo).port;
  },
  count: (): { received: number; repeats: number } => ({ received: receipts.size, repeats }),
  receipts: (): Map<string, number> => receipts,
  reset(): void {
    receipts = new Map();
    repeats = 0;
  },
};

serve(methods);

import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { Failure } from '../failure.ts';
import type { Story } from './lines.ts';

const EVENTS_MILLISECONDS = 15_000;

type Event = { type: string; data: Record<string, unknown> };

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** A webhook receiver that checks signatures and prints events. */
export async function startReceiver(port: number, { line }: Story) {
  const arrived: Event[] = [];
  let webhook: Webhook | undefined;
  let wake = () => {};
  const server = createServer(async (request, response) => {
    const body = await text(request);
    response.writeHead(204).end();
    try {
      arrived.push(webhook!.verify(body, request.headers as Record<string, string>) as Event);
    } catch (error) {
      line(`event with an invalid signature: ${(error as Error).message}`);
    }
    wake();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', () =>
      reject(new Failure('failed', `Port ${port} is in use. Stop the other program, or pass --port.`)),
    );
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    use(secret: string) {
      webhook = new Webhook(secret);
    },
    /** Prints events until every one of these types has arrived. */
    async waitFor(types: string[]): Promise<void> {
      const missing = [...types];
      const deadline = performance.now() + EVENTS_MILLISECONDS;
      for (let printed = 0; missing.length > 0; ) {
        if (printed === arrived.length) {
          const remaining = deadline - performance.now();
          if (remaining <= 0) throw new Failure('failed', `These events did not arrive: ${missing.join(', ')}`);
          await new Promise<void>((resolve) => {
            wake = resolve;
            setTimeout(resolve, Math.min(remaining, 500));
          });
          continue;
        }
        const { type, data } = arrived[printed++]!;
        const { endpointPath, path, amountUsd, milestoneUsd, stage, reason } = data;
        const facts = { endpointPath, path, amountUsd, milestoneUsd, stage, reason };
        line(`${type.padEnd(24)} ${JSON.stringify(facts)}`);
        const index = missing.indexOf(type);
        if (index >= 0) missing.splice(index, 1);
      }
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { now } from '../support/child.ts';
import type { Marks, TimeCollector } from './marks.ts';

type Delivery = { type: string; data: { priceUsd?: string; paymentId?: string } };

/**
 * Where deliveries go. `/good` accepts everything. `/flaky` fails or hangs up for a third of the deliveries, and
 * accepts them when they are retried. `/down` accepts nothing.
 */
export async function startReceivers(marks: Marks, times: TimeCollector) {
  const good = new Set<number>();
  const flaky = new Set<number>();
  const refusedOnce = new Set<number>();
  const settled = new Set<string>();
  let requests = 0;

  function acceptGood({ type, data }: Delivery): void {
    if (type === 'payment.settled') settled.add(data.paymentId!);
    if (type !== 'endpoint.pricing_changed') return;
    const number = marks.numberOf(data.priceUsd!);
    if (!good.has(number)) times.add('deliveries', now() - marks.sentAt(number));
    good.add(number);
  }

  const server = createServer(async (request, response) => {
    requests += 1;
    // A worker may give up on a request, for example, when the clock is moved. It then sends the request again.
    const delivery = (await json(request).catch(() => undefined)) as Delivery | undefined;
    if (!delivery) return response.destroy();
    if (request.url === '/down') return response.writeHead(503).end();
    if (request.url === '/good') {
      acceptGood(delivery);
      return response.end();
    }
    const number = marks.numberOf(delivery.data.priceUsd!);
    if (number % 3 === 0 && !refusedOnce.has(number)) {
      refusedOnce.add(number);
      return number % 2 === 0 ? response.writeHead(500).end() : response.socket?.resetAndDestroy();
    }
    flaky.add(number);
    return response.end();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    good,
    flaky,
    settled,
    requests: () => requests,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  };
}

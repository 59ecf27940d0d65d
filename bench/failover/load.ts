import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Hex } from 'viem';
import { openDevIssuer } from '../../src/auth/dev-issuer.ts';
import { type Chain, signPayment } from './chain.ts';
import { createInsist, send } from './requests.ts';
import { stopwatch } from './stopwatch.ts';

export const SELLER: Hex = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
const CHANGERS = 3;
const CREATORS = 1;
/** A project can have 1,000. */
const CREATED_PER_PROJECT = 500;
const BUYERS = 3;
const CREATOR_PAUSE_MILLISECONDS = 500;
/** How long a buyer retries a payment. */
const DEADLINE_MILLISECONDS = 240_000;

type Payment = { path: string; from: Hex; nonce: Hex; isServed: boolean; lastResponse: string };

/** The acknowledged requests, and the longest time without one. */
export type Load = Awaited<ReturnType<typeof startLoad>>;

/**
 * Changes prices, creates endpoints, buys, and receives deliveries until `stop` is called. Every request is retried
 * until it is acknowledged, as a careful client would.
 *
 * @param options.pauseMilliseconds between two changes or purchases of the same client
 */
export async function startLoad(options: { url: string; dataDir: string; chain: Chain; pauseMilliseconds: number }) {
  const { url, dataDir, chain, pauseMilliseconds } = options;
  const writes = stopwatch();
  const purchases = stopwatch();
  const deliveries = stopwatch();
  const token = await (await openDevIssuer({ dataDir })).sign({
    subject: 'seller',
    tier: 'ENTERPRISE',
    requestsPerMinute: null,
  });
  const receiver = await startReceiver(deliveries.note);
  const upstream = await startUpstream();
  let isStopping = false;

  const insist = createInsist({ url, token, onDone: writes.note });
  const project = await insist('POST', '/api/projects', { name: 'Shop', walletAddress: SELLER });
  const base = `/api/projects/${project.id}`;
  const shop = { upstreamUrl: `${upstream.url}/tasks`, priceUsd: '0.01' };
  await insist('POST', `${base}/endpoints`, { ...shop, path: '/tasks/*' });
  await insist('POST', `${base}/webhooks`, { url: receiver.url, eventTypes: ['endpoint.pricing_changed'] });
  const lanes = await Promise.all(
    Array.from({ length: CHANGERS }, (_, lane) =>
      insist('POST', `${base}/endpoints`, { ...shop, path: `/lane-${lane}` }),
    ),
  );

  const changes: number[] = [];
  let lastChange = 0;
  async function change(endpointId: string): Promise<void> {
    while (!isStopping) {
      const number = ++lastChange;
      await insist('PATCH', `${base}/endpoints/${endpointId}`, { priceUsd: (number / 1e6).toFixed(6) });
      changes.push(number);
      await sleep(pauseMilliseconds);
    }
  }

  const created: string[] = [];
  async function create(lane: number): Promise<void> {
    let projectId = project.id;
    for (let number = 1; !isStopping; number++) {
      const path = `/created-${lane}-${number}`;
      const { id } = await insist('POST', `/api/projects/${projectId}/endpoints`, { ...shop, path });
      created.push(id);
      if (number % CREATED_PER_PROJECT === 0)
        projectId = (await insist('POST', '/api/projects', { name: 'Shop', walletAddress: SELLER })).id;
      await sleep(CREATOR_PAUSE_MILLISECONDS);
    }
  }

  const payments: Payment[] = [];
  async function buy(index: number): Promise<void> {
    const wallet = await chain.wallet();
    const headers = { 'x-forwarded-for': `198.51.100.${index + 1}` };
    for (let number = 0; !isStopping; number++) {
      const path = `/tasks/${index}-${number}`;
      const offer = await send(`${url}/gateway/${project.id}${path}`, { headers });
      const paymentRequired = offer?.status === 402 && offer.headers.get('payment-required');
      if (!paymentRequired) {
        await sleep(200);
        continue;
      }
      const [terms] = JSON.parse(Buffer.from(paymentRequired, 'base64').toString()).accepts;
      const { from, nonce, header } = await signPayment(wallet, terms);
      const payment: Payment = { path, from, nonce, isServed: false, lastResponse: 'none' };
      payments.push(payment);
      const deadline = performance.now() + DEADLINE_MILLISECONDS;
      while (!payment.isServed && performance.now() < deadline) {
        const request = { headers: { ...headers, 'payment-signature': header } };
        const response = await send(`${url}/gateway/${project.id}${path}`, request);
        payment.isServed = response?.status === 200;
        payment.lastResponse = response ? `${response.status} ${response.text.slice(0, 300)}` : 'none';
        // After a 402, the payment won't be accepted anymore, so a buyer would sign a new one.
        if (response?.status === 402) break;
        if (!payment.isServed) await sleep(500);
      }
      if (payment.isServed) purchases.note();
      await sleep(pauseMilliseconds);
    }
  }

  const running = Promise.all([
    ...lanes.map(({ id }) => change(id)),
    ...Array.from({ length: CREATORS }, (_, lane) => create(lane)),
    ...Array.from({ length: BUYERS }, (_, index) => buy(index)),
  ]);
  running.catch((error) => console.error(error));

  return {
    projectId: project.id,
    changes,
    created,
    payments,
    received: receiver.received,
    calls: upstream.calls,
    /** The longest pauses since the last call, in seconds. */
    pauses: () => ({ writes: writes.read(), purchases: purchases.read(), deliveries: deliveries.read() }),
    async stop(): Promise<void> {
      isStopping = true;
      await running;
    },
  };
}

/** Accepts deliveries, and remembers the change that each one is about. */
async function startReceiver(note: () => void) {
  const received = new Set<number>();
  const server = createServer(async (request, response) => {
    const { data } = (await json(request)) as { data: { priceUsd: string } };
    received.add(Math.round(Number(data.priceUsd) * 1e6));
    note();
    response.end('ok');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

/** The seller's API. It counts the calls to each path. */
async function startUpstream() {
  const calls = new Map<string, number>();
  const server = createServer((request, response) => {
    calls.set(request.url!, (calls.get(request.url!) ?? 0) + 1);
    response.end('done');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return { calls, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

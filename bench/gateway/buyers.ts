/** A process with buyers. Each buyer sends its next request once it has the response to the previous one. */
import { Agent, get, type IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import { now, serve } from '../support/child.ts';
import { openConnection } from '../support/connection.ts';
import { paymentOf, type Terms } from './payment-header.ts';
import { STREAM_CHUNKS } from './server.ts';

export type BuyerMethods = typeof methods;

export type Load = {
  url: string;
  connections: number;
  /** Stops after this many seconds or requests. */
  limit: { seconds: number } | { requests: number };
  /** What to pay. If this is missing, requests are sent without a payment, and a 402 is expected. */
  terms?: Terms;
  /** The number of wallets. Buyers choose one at random. By default, each connection has its own wallet. */
  wallets?: number;
};

export type LoadResult = { count: number; seconds: number; latencies: Float64Array };

/** Which streamed responses to read, one after another. They are free unless `terms` is set. */
export type Streams = { url: string; requests: number; terms?: Terms };

/**
 * The milliseconds between the upstream sending a chunk and its arrival, for each response's first chunk and for all
 * chunks.
 */
export type StreamResult = { first: Float64Array; all: Float64Array };

/** Streamed responses to open, side by side. */
export type OpenStreams = {
  url: string;
  terms?: Terms;
  count: number;
  /** How many to open per second. */
  perSecond: number;
  /** Whether to read them. */
  isRead: boolean;
};

type Buyer = { agent?: Agent; localAddress?: string; wallet: number };

/** The open streams. `delays` is undefined if a stream isn't read. */
const open: { response: IncomingMessage; delays: Promise<number[]> | undefined }[] = [];

async function openStream(url: string, terms: Terms | undefined, buyer: Buyer): Promise<IncomingMessage> {
  const { wallet, ...options } = buyer;
  const headers = terms && { 'payment-signature': paymentOf(terms, wallet).header };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { ...options, headers }, resolve).once('error', reject);
  });
  if (response.statusCode !== 200) throw new Error(`${url} responded with ${response.statusCode}`);
  return response;
}

/** Reads a streamed response. Returns the delay of each chunk. */
async function readStream(response: IncomingMessage): Promise<number[]> {
  const delays: number[] = [];
  let rest = '';
  response.setEncoding('latin1').on('data', (text: string) => {
    const arrivedAt = now();
    const chunks = (rest + text).split('\n\n');
    rest = chunks.pop()!;
    for (const chunk of chunks) delays.push(arrivedAt - Number(chunk.slice('data: '.length)));
  });
  await finished(response);
  if (delays.length !== STREAM_CHUNKS) throw new Error(`A stream had ${delays.length} chunks, and then: ${rest}`);
  return delays;
}

function resultOf(responses: number[][]): StreamResult {
  return { first: Float64Array.from(responses, ([first]) => first!), all: Float64Array.from(responses.flat()) };
}

const methods = {
  /** @throws Error if a response isn't a 200 with all chunks */
  async stream({ url, requests, terms }: Streams): Promise<StreamResult> {
    const agent = new Agent({ keepAlive: true });
    const responses: number[][] = [];
    while (responses.length < requests) {
      responses.push(await readStream(await openStream(url, terms, { agent, wallet: 0 })));
    }
    agent.destroy();
    return resultOf(responses);
  },

  /** Resolves when the last stream is open. @throws Error if a response isn't a 200 */
  async openStreams({ url, terms, count, perSecond, isRead }: OpenStreams): Promise<void> {
    const opening = Array.from({ length: count }, async (_, index) => {
      await setTimeout((index / perSecond) * 1000);
      // Each buyer has its own address and wallet.
      const localAddress = `127.0.${2 + (index >> 8)}.${index & 255}`;
      const response = await openStream(url, terms, { agent: new Agent(), localAddress, wallet: index });
      const delays = isRead ? readStream(response) : undefined;
      delays?.catch(() => {});
      open.push({ response, delays });
    });
    await Promise.all(opening);
  },

  /** Waits until the streams have ended, or closes them if they aren't read. @throws Error if chunks are missing */
  async endStreams(): Promise<StreamResult> {
    const ended = open.splice(0).map(({ response, delays }) => delays ?? void response.destroy());
    return resultOf((await Promise.all(ended)).filter((delays) => delays !== undefined));
  },

  /** @throws Error if a response to an unpaid request isn't a 402, or a response to a paid one isn't a 200. */
  async load({ url, connections, limit, terms, wallets }: Load): Promise<LoadResult> {
    const { host, hostname, port, pathname } = new URL(url);
    const head = `GET ${pathname} HTTP/1.1\r\nhost: ${host}\r\naccept: application/json\r\n`;
    const wanted = terms ? 200 : 402;
    const latencies: number[] = [];
    let started = 0;

    async function buy(index: number): Promise<void> {
      // Buyers don't share an address, because the gateway verifies a limited number of payments per address at the
      // same time.
      const connection = await openConnection(hostname, Number(port), `127.0.1.${index + 1}`);
      while ('seconds' in limit ? now() < endsAt : started < limit.requests) {
        started++;
        const wallet = wallets === undefined ? index : Math.floor(Math.random() * wallets);
        const payment = terms ? `payment-signature: ${paymentOf(terms, wallet).header}\r\n` : '';
        const sentAt = now();
        const { status, text } = await connection.send(`${head}${payment}\r\n`);
        if (status !== wanted) throw new Error(`${url} responded with ${status} instead of ${wanted}: ${text}`);
        latencies.push(now() - sentAt);
      }
      connection.close();
    }

    const startedAt = now();
    const endsAt = startedAt + ('seconds' in limit ? limit.seconds * 1000 : 0);
    await Promise.all(Array.from({ length: connections }, (_, index) => buy(index)));
    return {
      count: latencies.length,
      seconds: (now() - startedAt) / 1000,
      latencies: Float64Array.from(latencies),
    };
  },
};

serve(methods);

/** A process with buyers. Each buyer sends its next request once it has the response to the previous one. */
import { Agent, get, type IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
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

/** Reads a streamed response. Returns the delay of each chunk. */
async function readStream(url: string, agent: Agent, terms: Terms | undefined): Promise<number[]> {
  const headers = terms && { 'payment-signature': paymentOf(terms, 0).header };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { agent, headers }, resolve).once('error', reject);
  });
  const delays: number[] = [];
  let rest = '';
  response.setEncoding('latin1').on('data', (text: string) => {
    const arrivedAt = now();
    const chunks = (rest + text).split('\n\n');
    rest = chunks.pop()!;
    for (const chunk of chunks) delays.push(arrivedAt - Number(chunk.slice('data: '.length)));
  });
  await finished(response);
  if (response.statusCode !== 200 || delays.length !== STREAM_CHUNKS) {
    throw new Error(`${url} responded with ${response.statusCode} and ${delays.length} chunks: ${rest}`);
  }
  return delays;
}

const methods = {
  /** @throws Error if a response isn't a 200 with all chunks */
  async stream({ url, requests, terms }: Streams): Promise<StreamResult> {
    const agent = new Agent({ keepAlive: true });
    const responses: number[][] = [];
    while (responses.length < requests) responses.push(await readStream(url, agent, terms));
    agent.destroy();
    return { first: Float64Array.from(responses, ([first]) => first!), all: Float64Array.from(responses.flat()) };
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

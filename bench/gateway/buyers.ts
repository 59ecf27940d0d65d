/** A process with buyers, each of which sends its next request once it has the response to the last one. */
import { createHash, randomBytes } from 'node:crypto';
import { now, serve } from '../support/child.ts';
import { openConnection } from '../support/connection.ts';

export type BuyerMethods = typeof methods;

/** The terms of a version 2 demand. Only the fields that are read here are listed. */
export type Terms = { amount: string; payTo: string; maxTimeoutSeconds: number };

export type Load = {
  url: string;
  connections: number;
  /** Stops after this many seconds or requests. */
  limit: { seconds: number } | { requests: number };
  /** What to pay. Without it, the requests are unpaid and expect a 402. */
  terms?: Terms;
  /** The number of wallets that the buyers use at random. By default, each connection has its own. */
  wallets?: number;
};

export type LoadResult = { count: number; seconds: number; latencies: Float64Array };

const SIGNATURE = `0x${'ab'.repeat(65)}`;

/** Nothing checks the signature, because that is the facilitator's job. */
function paymentHeader(terms: Terms, wallet: number): string {
  const authorization = {
    from: addressOf(wallet),
    to: terms.payTo,
    value: terms.amount,
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1000) + terms.maxTimeoutSeconds),
    nonce: `0x${randomBytes(32).toString('hex')}`,
  };
  const payment = { x402Version: 2, accepted: terms, payload: { signature: SIGNATURE, authorization } };
  return `payment-signature: ${Buffer.from(JSON.stringify(payment)).toString('base64')}\r\n`;
}

const addresses: string[] = [];

/** The wallets are the same in each run. */
function addressOf(wallet: number): string {
  addresses[wallet] ??= `0x${createHash('sha256').update(`wallet ${wallet}`).digest('hex').slice(0, 40)}`;
  return addresses[wallet];
}

const methods = {
  /** @throws Error if a response to an unpaid request isn't a 402, or a response to a paid one isn't a 200. */
  async load({ url, connections, limit, terms, wallets }: Load): Promise<LoadResult> {
    const { host, hostname, port, pathname } = new URL(url);
    const head = `GET ${pathname} HTTP/1.1\r\nhost: ${host}\r\naccept: application/json\r\n`;
    const wanted = terms ? 200 : 402;
    const latencies: number[] = [];
    let started = 0;

    async function buy(index: number): Promise<void> {
      // Buyers don't share an address, because the gateway verifies a limited number of payments per address at once.
      const connection = await openConnection(hostname, Number(port), `127.0.1.${index + 1}`);
      while ('seconds' in limit ? now() < endsAt : started < limit.requests) {
        started++;
        const wallet = wallets === undefined ? index : Math.floor(Math.random() * wallets);
        const payment = terms ? paymentHeader(terms, wallet) : '';
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

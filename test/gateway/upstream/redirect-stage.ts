import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { startTestApp } from '../../support/app.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, startRails } from '../support.ts';

/** What each endpoint costs, and what each buyer has. */
export const PRICE = 10_000n;
/** What buyers see instead of a redirect that isn't followed. */
export const REDIRECTED = 'The upstream returned a redirect. The seller must fix the upstream URL.';

/** What the seller sees. */
export function advice(target: string): string {
  return `The upstream redirects to ${target}. Set the endpoint's upstream URL so that requests go there.`;
}

type Redirect = { status: number; location?: string };
export type Received = { method: string; path: string; headers: IncomingMessage['headers']; body: string };

/**
 * An API that redirects to its own spelling of a path, like FastAPI: with a 307 to an absolute URL that has the
 * request's `Host`, no matter whether the client has used TLS, and the request's query.
 */
async function startApi() {
  /** What it responds to the next requests at `/answers`, with `HOST` for the host that was requested. */
  const answers: (Redirect | 'silence')[] = [];
  const handlers = new Set(['/items/', '/plain', '/u/ada/', '/u/bob']);
  const requests: Received[] = [];
  const other = (path: string) => (path.endsWith('/') ? path.slice(0, -1) : `${path}/`);

  function respond({ method, path, headers, body }: Received, response: ServerResponse): void {
    const url = new URL(path, 'http://api.test');
    const isResponse = url.pathname.startsWith('/answers');
    const answer = isResponse ? (answers.shift() ?? { status: 200 }) : undefined;
    if (answer === 'silence') return;
    if (answer) {
      const { status, location } = answer;
      response.writeHead(status, location === undefined ? {} : { location: location.replace('HOST', headers.host!) });
      response.end();
    } else if (handlers.has(url.pathname)) {
      response.end(JSON.stringify({ method, path, body }));
    } else if (handlers.has(other(url.pathname))) {
      response.writeHead(307, { location: `http://${headers.host}${other(url.pathname)}${url.search}` });
      response.end('Moved.');
    } else {
      response.writeHead(404).end();
    }
  }

  const server = createServer(async (incoming, response) => {
    const { method = '', url: path = '', headers } = incoming;
    const received = { method, path, headers, body: (await buffer(incoming)).toString() };
    requests.push(received);
    respond(received, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    answers,
    requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type Call = { method?: string; body?: string | ReadableStream<Uint8Array<ArrayBuffer>> };

export type RedirectStage = Awaited<ReturnType<typeof openRedirectStage>>;

/** Starts the service and an API that redirects, which is sold by a project with several endpoints. */
export async function openRedirectStage() {
  const rails = await startRails();
  const api = await startApi();
  const app = await startTestApp({ env: rails.env });
  const alice = await app.user('alice');
  const methods = ['GET', 'HEAD', 'POST', 'PUT'];
  const streamed = { settlement: 'BEFORE_REQUEST', methods };
  const shop = await createShop(app, alice, {
    '/items': { upstreamUrl: `${api.url}/items`, methods },
    '/exact': { upstreamUrl: `${api.url}/items/`, methods },
    '/plain': { upstreamUrl: `${api.url}/plain/`, methods },
    '/api/*': { upstreamUrl: api.url, methods },
    '/u/:name': { upstreamUrl: `${api.url}/u`, methods },
    '/keyed': { upstreamUrl: `${api.url}/items?key=of-the-seller`, methods },
    '/answers': { upstreamUrl: `${api.url}/answers`, methods },
    '/headed': {
      upstreamUrl: `${api.url}/answers?key=of-the-seller`,
      upstreamHeaders: [{ name: 'x-key', value: 'hidden-value' }],
    },
    '/secret': { upstreamUrl: `${api.url}/answers/swordfish/t0k3n-42?key=of-the-seller` },
    '/quick': { upstreamUrl: `${api.url}/answers`, timeoutSeconds: 3 },
    '/streamed': { upstreamUrl: `${api.url}/items`, ...streamed },
    '/streamed/answers': { upstreamUrl: `${api.url}/answers`, ...streamed },
    '/free': { upstreamUrl: `${api.url}/items`, priceUsd: '0', methods },
    '/free/streamed': { upstreamUrl: `${api.url}/items`, priceUsd: '0', ...streamed },
    '/free/answers': { upstreamUrl: `${api.url}/answers`, priceUsd: '0' },
  });

  /** Pays for a request. Returns the response, how much the buyer was charged, and what the upstream received. */
  async function payFor(path: string, call: Call = {}, { url } = shop) {
    const payer = await rails.wallet(PRICE);
    const signed = v2Headers(await sign(payer));
    const headers = { ...signed, ...(call.body !== undefined && { 'content-type': 'text/plain' }) };
    const init = { ...call, headers, redirect: 'manual', duplex: 'half' } as RequestInit;
    const response = await fetch(url + path, init);
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      chargedAtomic: PRICE - (await rails.chain.balanceOf(payer.address)),
      sent: sentPaths(),
      paymentId: response.headers.get('tollgate-payment-id'),
      /** Presents the same payment again. */
      repeat: () => fetch(url + path, init),
    };
  }

  /** The methods and paths that the API has received. */
  const sentPaths = () => api.requests.map((request) => `${request.method} ${request.path}`);

  async function paymentOf(id: string | null) {
    const { body } = await alice.rest<Record<string, unknown>>('GET', `${shop.base}/payments/${id}`);
    return body;
  }

  return {
    rails,
    api,
    app,
    alice,
    shop,
    payFor,
    sentPaths,
    paymentOf,
    /** Forgets what the API has received and was going to respond. */
    reset() {
      api.answers.length = 0;
      api.requests.length = 0;
    },
    async close() {
      await app.stop();
      await api.close();
      await rails.close();
    },
  };
}

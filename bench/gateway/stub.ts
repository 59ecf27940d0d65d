/**
 * A process with the servers behind the gateway, which respond immediately: a facilitator that accepts every payment, a
 * node that reports a large balance for every wallet, and an upstream that can also stream.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { now, serve } from '../support/child.ts';
import { STREAM_CHUNKS } from './server.ts';

export type StubMethods = typeof methods;

const PRODUCT = JSON.stringify({ product: 'x'.repeat(186) });
const FLOOD_CHUNK = Buffer.alloc(64 * 1024);
const FLOOD_CHUNKS = 512;
const BALANCE = `0x${(10n ** 18n).toString(16).padStart(64, '0')}`;

let network = '';
let settlements = 0;

/** A facilitator, with a JSON-RPC node at its root. */
const facilitate: RequestListener = async (request, response) => {
  const body = await text(request);
  const result = JSON.stringify(resultOf(request.url!, body));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': result.length }).end(result);
};

function resultOf(path: string, body: string): unknown {
  if (path === '/supported') {
    return { kinds: [{ x402Version: 2, scheme: 'exact', network }], extensions: [], signers: {} };
  }
  if (path === '/verify') return { isValid: true, payer: payerOf(body) };
  if (path === '/settle') {
    settlements++;
    return { success: true, transaction: `0x${randomBytes(32).toString('hex')}`, network, payer: payerOf(body) };
  }
  const { id, method } = JSON.parse(body) as { id: number; method: string };
  return { jsonrpc: '2.0', id, result: method === 'eth_chainId' ? '0x14a34' : BALANCE };
}

/** Doesn't parse the request, because the stub must use as little CPU time as possible. */
function payerOf(body: string): string {
  const start = body.indexOf('"from":"') + '"from":"'.length;
  return body.slice(start, start + 42);
}

const sell: RequestListener = (request, response) => {
  request.resume();
  if (request.url === '/stream') return stream(response, 1);
  if (request.url === '/tokens') return stream(response, 50);
  if (request.url === '/flood') return flood(response);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': PRODUCT.length }).end(PRODUCT);
};

/** Sends chunks. Each one contains the time when it was sent. */
function stream(response: ServerResponse, everyMilliseconds: number): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let sent = 0;
  const timer = setInterval(() => {
    response.write(`data: ${now()}\n\n`);
    if (++sent === STREAM_CHUNKS) response.end();
  }, everyMilliseconds);
  response.once('close', () => clearInterval(timer)).once('finish', () => clearInterval(timer));
}

/** Sends as much as the gateway takes, up to a limit that protects the kernel's memory. */
function flood(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/octet-stream' });
  let left = FLOOD_CHUNKS;
  const pump = () => {
    while (left-- > 0 && response.write(FLOOD_CHUNK));
  };
  response.on('drain', pump);
  pump();
}

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer({ keepAliveTimeout: 60_000 }, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 1_024, resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const methods = {
  async listen(networkId: string): Promise<{ facilitatorUrl: string; upstreamUrl: string }> {
    network = networkId;
    return { facilitatorUrl: await listen(facilitate), upstreamUrl: `${await listen(sell)}/data` };
  },
  settlements: (): number => settlements,
};

serve(methods);

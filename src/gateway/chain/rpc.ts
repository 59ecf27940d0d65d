import {
  type CustomTransport,
  createPublicClient,
  custom,
  type PublicClient,
  RpcRequestError,
  type Transport,
} from 'viem';
import type { Egress } from '../../egress/egress.ts';
import { RedirectError, sendFollowing } from '../../egress/redirects.ts';
import { maskUrl } from '../../secrets/mask-url.ts';
import { scrubberOf } from '../../secrets/redact.ts';

const TIMEOUT_MILLISECONDS = 5_000;
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;

type RpcError = { code: number; message: string; data?: unknown };
type RpcResponse = { result?: unknown; error?: RpcError };

const HEX = /^0x[0-9a-f]*$/i;

/**
 * A viem transport to a JSON-RPC node (https://eips.ethereum.org/EIPS/eip-1474) through the egress guard. It never
 * retries. Errors don't contain the parts of the URL that could be a key, even if the node repeats them.
 */
export function egressTransport(egress: Pick<Egress, 'send'>, url: string): CustomTransport {
  const shownUrl = maskUrl(url);
  const withoutKey = shownUrl === url ? (text: string) => text : scrubberOf([url]);
  let id = 0;
  async function request({ method, params }: { method: string; params?: unknown }): Promise<unknown> {
    const body = { jsonrpc: '2.0', id: ++id, method, params: params ?? [] };
    const message = {
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      timeoutMilliseconds: TIMEOUT_MILLISECONDS,
      maxResponseBytes: MAX_RESPONSE_BYTES,
    };
    // A redirect can repeat a key from the URL, which is only for the node's own site.
    const mayLeaveSite = shownUrl === url;
    const response = await sendFollowing(egress.send, message, { mayLeaveSite }).catch((error) => {
      throw error instanceof RedirectError ? redirected(error) : error;
    });
    const { result, error } = readRpcResponse(response.statusCode, response.body);
    if (!error) return result;
    const { code, message: text } = error;
    const data = revertDataOf(error);
    const shown = { code, message: withoutKey(String(text)), ...(data !== undefined && { data }) };
    throw new RpcRequestError({ body, error: shown, url: shownUrl });
  }
  return custom({ request }, { retryCount: 0 });
}

/**
 * A client for a node. It doesn't follow ERC-3668, with which a node or a contract could make it send requests to any address,
 * past the egress guard.
 */
export function nodeClient(transport: Transport): PublicClient {
  return createPublicClient({ transport, ccipRead: false });
}

function redirected({ target, message }: RedirectError): Error {
  if (target === undefined) return new Error(`The node can't be used. ${message}`);
  return new Error(`The node redirects to ${maskUrl(target)}. Set RPC_URL (or RPC_URLS) to that address.`);
}

/** What a contract returned. Some nodes put it into an object. Anything else could repeat the key. */
function revertDataOf({ data }: RpcError): string | undefined {
  const returned = typeof data === 'object' && data !== null && 'data' in data ? data.data : data;
  return typeof returned === 'string' && HEX.test(returned) ? returned : undefined;
}

/** @throws Error if it isn't a JSON-RPC response. */
function readRpcResponse(statusCode: number, body: Buffer): RpcResponse {
  let response: unknown;
  try {
    response = JSON.parse(body.toString('utf8'));
  } catch {
    response = undefined;
  }
  if (typeof response !== 'object' || response === null || !('result' in response || 'error' in response)) {
    throw new Error(`The node responded with status ${statusCode} and no JSON-RPC result`);
  }
  return response as RpcResponse;
}

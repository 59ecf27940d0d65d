import { type CustomTransport, custom, RpcRequestError } from 'viem';
import type { Egress } from '../../egress/egress.ts';

const TIMEOUT_MILLISECONDS = 5_000;
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

type RpcAnswer = { result?: unknown; error?: { code: number; message: string; data?: unknown } };

/** A viem transport to a JSON-RPC node (https://eips.ethereum.org/EIPS/eip-1474) by the guarded way out. Never retries. */
export function egressTransport(egress: Pick<Egress, 'send'>, url: string): CustomTransport {
  let id = 0;
  async function request({ method, params }: { method: string; params?: unknown }): Promise<unknown> {
    const body = { jsonrpc: '2.0', id: ++id, method, params: params ?? [] };
    const answer = await egress.send({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      timeoutMilliseconds: TIMEOUT_MILLISECONDS,
      maxResponseBytes: MAX_ANSWER_BYTES,
    });
    const { result, error } = readAnswer(answer.statusCode, answer.body);
    if (error) throw new RpcRequestError({ body, error, url });
    return result;
  }
  return custom({ request }, { retryCount: 0 });
}

/** @throws Error when it is not the answer of a JSON-RPC node. */
function readAnswer(statusCode: number, body: Buffer): RpcAnswer {
  let answer: unknown;
  try {
    answer = JSON.parse(body.toString('utf8'));
  } catch {
    answer = undefined;
  }
  if (typeof answer !== 'object' || answer === null || !('result' in answer || 'error' in answer)) {
    throw new Error(`The node answered with status ${statusCode} and no JSON-RPC result`);
  }
  return answer as RpcAnswer;
}

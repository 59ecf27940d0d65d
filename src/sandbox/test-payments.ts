import type { Logger } from 'pino';
import { parseEgressAllow } from '../egress/allow-list.ts';
import { createEgress, type Egress } from '../egress/egress.ts';

type TestPayment = {
  statusCode: number;
  /** The start of the response's body, as text. */
  body: string;
  /** Null if nothing was charged. */
  transaction: string | null;
};

export type TestPayments = {
  /**
   * Sends a request to a server on this machine, and pays with the sandbox's wallet if the server asks for a payment.
   *
   * @param body JSON, for methods that have a body.
   * @throws EgressError if there is no response.
   */
  pay(request: { url: string; method: string; body?: string }): Promise<TestPayment>;
  close(): Promise<unknown>;
};

const TIMEOUT_MILLISECONDS = 60_000;
const MAX_BODY_BYTES = 64 * 1024;

/** Makes the payments for the console's “Make a test payment” button. */
export function createTestPayments(privateKey: `0x${string}`, log: Logger): TestPayments {
  // A separate egress, because the service's own might be closed to this machine.
  const egress = createEgress({ allow: parseEgressAllow('127.0.0.1/32:*,[::1]/128:*'), log });
  return {
    async pay({ url, method, body }) {
      // The client is loaded on the first payment, so that it doesn't slow down startup.
      const { payingFetch, receiptOf } = await import('./test-buyer.ts');
      const buy = payingFetch(privateKey, fetchThrough(egress));
      const headers = { 'content-type': 'application/json' };
      const response = await buy(url, { method, ...(body !== undefined && { body, headers }) });
      const { transaction } = receiptOf(response);
      return { statusCode: response.status, body: await response.text(), transaction: transaction || null };
    },
    close: egress.close,
  };
}

/** The subset of `fetch` that the client needs. */
function fetchThrough(egress: Egress) {
  return async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    const { statusCode, headers, body } = await egress.send({
      method: request.method,
      url: request.url,
      headers: Object.fromEntries(request.headers),
      ...(request.body && { body: Buffer.from(await request.arrayBuffer()) }),
      timeoutMilliseconds: TIMEOUT_MILLISECONDS,
      maxResponseBytes: MAX_BODY_BYTES,
    });
    const text = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
    return new Response(hasBody(statusCode) ? new Uint8Array(body) : null, { status: statusCode, headers: text });
  };
}

/** `Response` refuses a body with these statuses (https://fetch.spec.whatwg.org/#null-body-status). */
const hasBody = (statusCode: number) => ![204, 205, 304].includes(statusCode);

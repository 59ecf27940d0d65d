import type { PrivateKeyAccount } from 'viem/accounts';
import { type Signed, sign } from '../../gateway/sign.ts';

/** Terms as a client reads them, in version 1 or 2. */
export type Terms = {
  x402Version: number;
  resource?: { url: string; description: string };
  extensions?: object;
  accepts: { scheme: string; network: string; amount?: string; maxAmountRequired?: string; payTo: string }[];
};

/** What a client sends, as recorded from a real run in November 2026. */
export type Client = {
  version: 1 | 2;
  /** Headers of both requests. */
  headers: Record<string, string>;
  /** More headers of the request with a payment, besides the payment. */
  paidHeaders: Record<string, string>;
  /** How many seconds ago the authorization became valid. */
  validForSeconds: number;
  /** The fields of the payment besides its version and `payload`. */
  envelope(terms: Terms): object;
  /** Reads and writes base64 with one byte per character (`atob` and `btoa`) instead of in UTF-8. */
  isByteWise?: boolean;
  /** How many payments it signs for one request while the server keeps responding with 402. */
  attempts: number;
  /** Whether it sends each of these payments after another request without one. */
  asksEachTime?: boolean;
};

const FETCH = { accept: '*/*', 'accept-language': '*', 'user-agent': 'node' };
const AXIOS = {
  accept: 'application/json, text/plain, */*',
  'user-agent': 'axios/1.21.1',
  'accept-encoding': 'gzip, compress, deflate, br',
};
const EXPOSE_V1 = { 'access-control-expose-headers': 'X-PAYMENT-RESPONSE' };
const EXPOSE_BOTH = { 'access-control-expose-headers': 'PAYMENT-RESPONSE,X-PAYMENT-RESPONSE' };
const TEN_MINUTES = 600;

const v1Envelope = ({ accepts: [first] }: Terms) => ({ scheme: first!.scheme, network: first!.network });
const v2Envelope = ({ accepts: [accepted], resource, extensions }: Terms) => ({ accepted, resource, extensions });

export const CLIENTS: Readonly<Record<string, Client>> = {
  'x402-fetch 1.2.0': {
    version: 1,
    headers: FETCH,
    paidHeaders: EXPOSE_V1,
    validForSeconds: TEN_MINUTES,
    attempts: 1,
    envelope: v1Envelope,
  },
  'x402-axios 0.7.2': {
    version: 1,
    headers: AXIOS,
    paidHeaders: EXPOSE_V1,
    validForSeconds: TEN_MINUTES,
    attempts: 1,
    envelope: v1Envelope,
  },
  '@x402/axios 2.11.0': {
    version: 2,
    headers: AXIOS,
    paidHeaders: EXPOSE_BOTH,
    validForSeconds: TEN_MINUTES,
    attempts: 1,
    envelope: v2Envelope,
  },
  '@x402/fetch 2.0.0': {
    version: 2,
    headers: FETCH,
    paidHeaders: EXPOSE_BOTH,
    validForSeconds: TEN_MINUTES,
    attempts: 1,
    envelope: v2Envelope,
    isByteWise: true,
  },
  'mppx 0.11.0': {
    version: 2,
    headers: { ...FETCH, 'accept-payment': 'evm/charge' },
    paidHeaders: {},
    attempts: 3,
    validForSeconds: TEN_MINUTES,
    envelope: v2Envelope,
  },
  '@faremeter/fetch 0.22.0': {
    version: 2,
    headers: FETCH,
    paidHeaders: {},
    validForSeconds: 60,
    attempts: 3,
    asksEachTime: true,
    envelope: ({ accepts: [accepted], resource }) => ({ accepted, resource }),
    isByteWise: true,
  },
  'thirdweb 5.121.6': {
    version: 2,
    headers: FETCH,
    validForSeconds: 86_400,
    attempts: 1,
    paidHeaders: { 'access-control-expose-headers': 'PAYMENT-RESPONSE' },
    envelope: (terms) => ({
      scheme: terms.accepts[0]!.scheme,
      network: terms.accepts[0]!.network,
      accepted: terms.accepts[0],
      resource: terms.resource,
    }),
  },
};

/** Reads the terms of a 402 response as the client does. */
export async function readTerms(
  { version, isByteWise }: Client,
  response: { headers: { get(name: string): string | null }; json(): Promise<unknown> },
): Promise<Terms> {
  if (version === 1) return (await response.json()) as Terms;
  const header = response.headers.get('payment-required')!;
  return JSON.parse(isByteWise ? atob(header) : Buffer.from(header, 'base64').toString('utf8')) as Terms;
}

/** Signs a payment for the first of the terms, and returns all headers of the request that the client sends with it. */
export async function paymentFor(
  client: Client,
  terms: Terms,
  account: PrivateKeyAccount,
): Promise<Record<string, string>> {
  const { amount, maxAmountRequired } = terms.accepts[0]!;
  const now = Math.floor(Date.now() / 1000);
  const validAfter = String(now - client.validForSeconds);
  const payload: Signed = await sign(account, { value: amount ?? maxAmountRequired!, validAfter });
  const json = JSON.stringify({ x402Version: client.version, ...client.envelope(terms), payload });
  const value = client.isByteWise ? btoa(json) : Buffer.from(json).toString('base64');
  const name = client.version === 1 ? 'x-payment' : 'payment-signature';
  return { ...client.headers, ...client.paidHeaders, [name]: value };
}

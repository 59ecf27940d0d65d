import { x402Client } from '@x402/core/client';
import { registerExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment } from '@x402/fetch';
import { privateKeyToAccount } from 'viem/accounts';

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** The standard client. When a server asks for a payment, the client pays from this wallet. */
export function payingFetch(privateKey: `0x${string}`, send: Fetch): Fetch {
  const signer = privateKeyToAccount(privateKey);
  return wrapFetchWithPayment(send, registerExactEvmScheme(new x402Client(), { signer }));
}

/** The receipt in a response. Its transaction is empty if nothing was paid. */
export function receiptOf(response: Response): { transaction?: string } {
  return JSON.parse(Buffer.from(response.headers.get('payment-response') ?? 'e30=', 'base64').toString());
}

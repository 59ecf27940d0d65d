import { x402Client } from '@x402/core/client';
import { registerExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment } from '@x402/fetch';
import { privateKeyToAccount } from 'viem/accounts';

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * The standard client. When a server asks for a payment, the client pays from this wallet.
 *
 * @param network the only network to pay on, as a CAIP-2 ID. By default, the client pays on the first one it is offered.
 */
export function payingFetch(privateKey: `0x${string}`, send: Fetch, network?: `${string}:${string}`): Fetch {
  const signer = privateKeyToAccount(privateKey);
  return wrapFetchWithPayment(
    send,
    registerExactEvmScheme(new x402Client(), { signer, ...(network && { networks: [network] }) }),
  );
}

/** The receipt in a response. Its transaction is empty if nothing was paid, and its network is a CAIP-2 ID. */
export function receiptOf(response: Response): { transaction?: string; network?: string } {
  return JSON.parse(Buffer.from(response.headers.get('payment-response') ?? 'e30=', 'base64').toString());
}

import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { type Hex, http, parseAbi } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import type { FacilitatorRequest } from '../../src/gateway/chain/facilitator.ts';
import { findNetwork } from '../../src/gateway/chain/networks.ts';
import { findAnvil, startAnvil } from '../../src/sandbox/anvil.ts';
import { prepareChain } from '../../src/sandbox/chain.ts';
import { createLocalFacilitator } from '../../src/sandbox/facilitator.ts';

export const PRICE_ATOMIC = 10_000n;
const NETWORK = findNetwork('eip155:84532')!;
const ABI = parseAbi(['function authorizationState(address, bytes32) view returns (bool)']);
const TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const;

export type Chain = Awaited<ReturnType<typeof startChain>>;

/** A local chain with test dollars, and the reference facilitator over HTTP. Nothing here ever fails. */
export async function startChain() {
  const anvil = await startAnvil({ binary: findAnvil()!, chainId: NETWORK.chainId });
  const transport = http(anvil.rpcUrl);
  const chain = await prepareChain({ network: NETWORK, transport });
  const endpoints = createLocalFacilitator({ network: NETWORK, transport });
  await chain.giveGas(endpoints.address);
  const facilitator = createServer(async (request, response) => {
    const send = (status: number, value: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (request.url === '/supported') return send(200, endpoints.supported());
    const operation = request.url === '/settle' ? endpoints.settle : endpoints.verify;
    const body = (await json(request)) as FacilitatorRequest;
    await operation(body).then(
      (result) => send(200, result),
      (error) => send(500, { error: String(error) }),
    );
  });
  await new Promise<void>((listening) => facilitator.listen(0, '127.0.0.1', listening));
  const facilitatorUrl = `http://127.0.0.1:${(facilitator.address() as AddressInfo).port}`;

  return {
    env: { FACILITATOR_URL: facilitatorUrl, RPC_URL: anvil.rpcUrl, NETWORK: NETWORK.id },

    /** A wallet with ten million dollars. */
    async wallet() {
      const account = privateKeyToAccount(generatePrivateKey());
      await chain.giveDollars(account.address, 10n ** 13n);
      return account;
    },

    /** The dollar balance of an address, in atomic units. */
    balanceOf: chain.balanceOf,

    /** Whether the payment was charged. */
    isCharged: ({ from, nonce }: { from: Hex; nonce: Hex }): Promise<boolean> =>
      chain.client.readContract({
        address: NETWORK.asset.address,
        abi: ABI,
        functionName: 'authorizationState',
        args: [from, nonce],
      }),
  };
}

/** Signs a payment to the seller, and returns it with the value of its `PAYMENT-SIGNATURE` header. */
export async function signPayment(account: ReturnType<typeof privateKeyToAccount>, terms: Record<string, unknown>) {
  const authorization = {
    from: account.address,
    to: terms.payTo as Hex,
    value: String(PRICE_ATOMIC),
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1000) + Number(terms.maxTimeoutSeconds)),
    nonce: `0x${randomBytes(32).toString('hex')}` as Hex,
  };
  const { value, validAfter, validBefore } = authorization;
  const signature = await account.signTypedData({
    domain: {
      name: NETWORK.asset.name,
      version: NETWORK.asset.version,
      chainId: NETWORK.chainId,
      verifyingContract: NETWORK.asset.address,
    },
    types: TYPES,
    primaryType: 'TransferWithAuthorization',
    message: {
      ...authorization,
      value: BigInt(value),
      validAfter: BigInt(validAfter),
      validBefore: BigInt(validBefore),
    },
  });
  const payment = { x402Version: 2, accepted: terms, payload: { signature, authorization } };
  const header = Buffer.from(JSON.stringify(payment)).toString('base64');
  return { from: account.address, nonce: authorization.nonce, header };
}

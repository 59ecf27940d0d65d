import { x402Client } from '@x402/core/client';
import { registerExactEvmScheme } from '@x402/evm/exact/client';
import { ExactEvmSchemeV1 } from '@x402/evm/v1';
import { wrapFetchWithPayment } from '@x402/fetch';
import pino from 'pino';
import type { Hex } from 'viem';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { parseEgressAllow } from '../../src/egress/allow-list.ts';
import { createEgress } from '../../src/egress/egress.ts';
import { findNetwork, type Network } from '../../src/gateway/chain/networks.ts';
import { egressTransport } from '../../src/gateway/chain/rpc.ts';
import { findAnvil, startAnvil } from '../../src/sandbox/anvil.ts';
import { type LocalChain, prepareChain } from '../../src/sandbox/chain.ts';
import { createLocalFacilitator } from '../../src/sandbox/facilitator.ts';
import type { TestApp, TestUser } from '../support/app.ts';
import { pace } from '../support/pace.ts';
import { type FacilitatorServer, startFacilitatorServer } from './chain/facilitator-server.ts';
import { patient } from './patient.ts';

export const NETWORK: Network = findNetwork('eip155:84532')!;
export const SELLER: Hex = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';

/** A local chain with test dollars, and a facilitator that is called over HTTP. */
export type Rails = {
  network: Network;
  rpcUrl: string;
  chain: LocalChain;
  facilitator: FacilitatorServer;
  /** Environment variables that make the service use them. */
  env: Record<string, string>;
  /** Creates a wallet with this balance in atomic units. */
  wallet(amountAtomic?: bigint): Promise<PrivateKeyAccount>;
  close(): Promise<void>;
};

export async function startRails(network: Network = NETWORK): Promise<Rails> {
  const anvil = await startAnvil({ binary: findAnvil()!, chainId: network.chainId });
  const log = pino({ level: 'silent' });
  const egress = createEgress({ allow: parseEgressAllow(`127.0.0.1/32:${anvil.port}`), log });
  const transport = egressTransport(patient(egress), anvil.rpcUrl);
  const chain = await prepareChain({ network, transport });
  const endpoints = createLocalFacilitator({ network, transport });
  await chain.giveGas(endpoints.address);
  const facilitator = await startFacilitatorServer(endpoints);
  return {
    network,
    rpcUrl: anvil.rpcUrl,
    chain,
    facilitator,
    env: { FACILITATOR_URL: facilitator.url, RPC_URL: anvil.rpcUrl, NETWORK: network.id },
    async wallet(amountAtomic = 1_000_000n) {
      const account = privateKeyToAccount(generatePrivateKey());
      if (amountAtomic > 0n) await chain.giveDollars(account.address, amountAtomic);
      return account;
    },
    async close() {
      await facilitator.close();
      await egress.close();
      await anvil.stop();
    },
  };
}

/** Environment variables that make the service use several networks. The first one is preferred. */
export function networksEnv(rails: Rails[]): Record<string, string> {
  const byNetwork = (urlOf: (one: Rails) => string) =>
    JSON.stringify(Object.fromEntries(rails.map((one) => [one.network.id, urlOf(one)])));
  return {
    NETWORKS: rails.map(({ network }) => network.id).join(),
    FACILITATOR_URLS: byNetwork(({ facilitator }) => facilitator.url),
    RPC_URLS: byNetwork(({ rpcUrl }) => rpcUrl),
  };
}

/** The stock x402 client, which pays any price on the first network that it is offered, or only on `network`. */
export function payingFetch(account: PrivateKeyAccount, network?: Network): typeof fetch {
  const options = { signer: account, ...(network && { networks: [network.id] }) };
  return wrapFetchWithPayment(fetch, registerExactEvmScheme(new x402Client(), options)) as typeof fetch;
}

/** The stock version 1 client, which reads the body of a 402 and ignores its headers. */
export function payingFetchV1(account: PrivateKeyAccount, network: Network = NETWORK): typeof fetch {
  const client = new x402Client().registerV1(network.v1Name as `${string}:${string}`, new ExactEvmSchemeV1(account));
  const withoutHeader: typeof fetch = async (...request) => {
    const response = await fetch(...request);
    const headers = new Headers(response.headers);
    headers.delete('payment-required');
    return new Response(response.body, { status: response.status, headers });
  };
  return wrapFetchWithPayment(withoutHeader, client) as typeof fetch;
}

/** Creates a project that pays `SELLER`, with an endpoint for each path. `mode`: the server's default, if not given. */
export async function createShop(
  app: Pick<TestApp, 'url'>,
  owner: TestUser,
  endpoints: Record<
    string,
    {
      upstreamUrl: string;
      priceUsd?: string;
      description?: string;
      forwardedHeaders?: string[];
      [field: string]: unknown;
    }
  >,
  mode?: 'LIVE' | 'TEST',
) {
  const fields = { name: 'Shop', walletAddress: SELLER, ...(mode && { mode }) };
  const project = await owner.rest<{ id: string }>('POST', '/api/projects', fields);
  const base = `/api/projects/${project.body.id}`;
  const ids: Record<string, string> = {};
  for (const [path, endpoint] of Object.entries(endpoints)) {
    const made = await owner.rest<{ id: string }>('POST', `${base}/endpoints`, { priceUsd: '0.01', ...endpoint, path });
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
    ids[path] = made.body.id;
  }
  return { projectId: project.body.id, base, ids, url: `${app.url}/gateway/${project.body.id}` };
}

/** Reads a body with pauses, at about 256 KB per second or less. */
export async function readSlowly(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  while (!(await reader.read()).done) await pace(250);
}

/** Decodes the JSON in an x402 header. */
export function decodeHeader<T = Record<string, unknown>>(value: string | null): T {
  return JSON.parse(Buffer.from(value ?? '', 'base64').toString('utf8')) as T;
}

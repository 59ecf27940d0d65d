import {
  createTestClient,
  defineChain,
  type Hex,
  parseAbi,
  publicActions,
  stringToHex,
  type Transport,
  toHex,
  walletActions,
} from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import type { Network } from '../gateway/chain/networks.ts';
import contracts from './contracts.json' with { type: 'json' };
import { oneAtATime } from './one-at-a-time.ts';

/** Compiled by `scripts/compile-contracts.ts` from the Solidity files in this folder. */
const CODE = contracts.runtimeCode as { LocalUsdc: Hex; LocalMulticall: Hex; LocalSmartWalletFactory: Hex };

/** Multicall3's address on every chain. */
const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11';
/** The address of Coinbase Smart Wallet's factory on every chain. */
export const SMART_WALLET_FACTORY = '0x0BA5ED0c6AA8c49038F819E587E2633c4A9F428a';
const GAS_MONEY = 10n ** 21n;

const TOKEN_ABI = parseAbi([
  'function mint(address to, uint256 value)',
  'function balanceOf(address owner) view returns (uint256)',
]);

/** A network as a viem chain. */
export function viemChain({ chainId, title, rpcUrl }: Network) {
  return defineChain({
    id: chainId,
    name: title,
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  });
}

export type LocalChain = ReturnType<typeof prepareChain> extends Promise<infer C> ? C : never;

/**
 * Makes an empty local chain look like the network it replaces. The dollar token has its real address, so prices, asset
 * checks, and standard clients work without configuration. So does the factory of smart wallets.
 */
export async function prepareChain({ network, transport }: { network: Network; transport: Transport }) {
  const client = createTestClient({ mode: 'anvil', chain: viemChain(network), transport, pollingInterval: 50 })
    .extend(publicActions)
    .extend(walletActions);
  const token = { address: network.asset.address, abi: TOKEN_ABI } as const;
  await client.setCode({ address: token.address, bytecode: CODE.LocalUsdc });
  await client.setStorageAt({ address: token.address, index: 0, value: storedText(network.asset.name) });
  await client.setCode({ address: MULTICALL3, bytecode: CODE.LocalMulticall });
  await client.setCode({ address: SMART_WALLET_FACTORY, bytecode: CODE.LocalSmartWalletFactory });
  const minter = privateKeyToAccount(generatePrivateKey());
  const serially = oneAtATime();
  await client.setBalance({ address: minter.address, value: GAS_MONEY });

  return {
    client,
    /** Funds an address so that it can pay for gas. */
    giveGas: (address: Hex) => client.setBalance({ address, value: GAS_MONEY }),
    /** Gives an address dollars, in atomic units. */
    async giveDollars(address: Hex, amountAtomic: bigint): Promise<void> {
      const call = { ...token, account: minter, functionName: 'mint', args: [address, amountAtomic] } as const;
      const hash = await serially(() => client.writeContract(call));
      await client.waitForTransactionReceipt({ hash });
    },
    balanceOf: (address: Hex) => client.readContract({ ...token, functionName: 'balanceOf', args: [address] }),
  };
}

/**
 * Text of up to 31 bytes as Solidity stores it: the bytes, padded on the right, and twice their number in the last
 * byte (https://docs.soliditylang.org/en/latest/internals/layout_in_storage.html#bytes-and-string).
 */
function storedText(text: string): Hex {
  const bytes = stringToHex(text, { size: 31 });
  return `${bytes}${toHex(Buffer.byteLength(text) * 2, { size: 1 }).slice(2)}`;
}

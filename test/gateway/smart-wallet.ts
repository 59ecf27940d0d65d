import { createPublicClient, type Hex, http } from 'viem';
import { type SmartAccount, toCoinbaseSmartAccount } from 'viem/account-abstraction';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { SMART_WALLET_FACTORY, viemChain } from '../../src/sandbox/chain.ts';
import type { Rails } from './support.ts';

type Options = { amountAtomic?: bigint; isDeployed?: boolean };

/**
 * A smart wallet with this balance in atomic units, as viem makes it for Coinbase Smart Wallet. Until it is deployed, it
 * signs as ERC-6492 describes, and then as ERC-1271 does.
 */
export async function smartWallet(
  { network, rpcUrl, chain }: Rails,
  { amountAtomic = 1_000_000n, isDeployed = false }: Options = {},
  owner: PrivateKeyAccount = privateKeyToAccount(generatePrivateKey()),
): Promise<SmartAccount> {
  const client = createPublicClient({ chain: viemChain(network), transport: http(rpcUrl), pollingInterval: 50 });
  const wallet = await toCoinbaseSmartAccount({ client, owners: [owner], version: '1' });
  if (amountAtomic > 0n) await chain.giveDollars(wallet.address, amountAtomic);
  if (isDeployed) await deploy(wallet, chain);
  return wallet;
}

/** A smart wallet with the same address on several networks. It has the part of an account that stock clients use. */
export async function smartWalletOn(rails: Rails[], options: Options = {}): Promise<PrivateKeyAccount> {
  const owner = privateKeyToAccount(generatePrivateKey());
  const wallets = await Promise.all(
    rails.map(async (one) => [one.network.chainId, await smartWallet(one, options, owner)] as const),
  );
  const byChain = new Map(wallets);
  const signTypedData = (data: { domain: { chainId: number | bigint } }): Promise<Hex> =>
    byChain.get(Number(data.domain.chainId))!.signTypedData(data as never);
  return { address: wallets[0]![1].address, signTypedData } as unknown as PrivateKeyAccount;
}

/** Deploys a wallet. Its address stays the same. */
async function deploy(wallet: SmartAccount, chain: Rails['chain']): Promise<void> {
  const sender = privateKeyToAccount(generatePrivateKey());
  await chain.giveGas(sender.address);
  const { factoryData } = await wallet.getFactoryArgs();
  const hash = await chain.client.sendTransaction({ account: sender, to: SMART_WALLET_FACTORY, data: factoryData! });
  await chain.client.waitForTransactionReceipt({ hash });
}

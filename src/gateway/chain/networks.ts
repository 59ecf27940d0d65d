/** A chain for payments, and the asset used on it. */
export type Network = {
  /** CAIP-2. */
  id: `eip155:${number}`;
  chainId: number;
  /** The network's name in x402 version 1. */
  v1Name: string;
  title: string;
  isTestnet: boolean;
  /** A public node for looking up settlements. */
  rpcUrl: string;
  /** Where a transaction's page in a block explorer starts; the transaction's hash follows. */
  transactionUrl: string;
  asset: {
    symbol: string;
    /** EIP-55 checksummed. */
    address: `0x${string}`;
    /** The contract's EIP-712 domain, used to sign authorizations. */
    name: string;
    version: string;
  };
};

/**
 * USDC with EIP-3009 on Base and its test network, as Circle publishes them
 * (https://developers.circle.com/stablecoins/usdc-contract-addresses). The names in the signing domains really do
 * differ.
 */
const NETWORKS: readonly Network[] = [
  {
    id: 'eip155:8453',
    chainId: 8453,
    v1Name: 'base',
    title: 'Base',
    isTestnet: false,
    rpcUrl: 'https://mainnet.base.org',
    transactionUrl: 'https://basescan.org/tx/',
    asset: { symbol: 'USDC', address: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', name: 'USD Coin', version: '2' },
  },
  {
    id: 'eip155:84532',
    chainId: 84532,
    v1Name: 'base-sepolia',
    title: 'Base Sepolia',
    isTestnet: true,
    rpcUrl: 'https://sepolia.base.org',
    transactionUrl: 'https://sepolia.basescan.org/tx/',
    asset: { symbol: 'USDC', address: '0x036CbD53842c5426634e7929541eC2318f3dCF7e', name: 'USDC', version: '2' },
  },
];

export const NETWORK_IDS = NETWORKS.map(({ id }) => id);

/** Finds a network by its CAIP-2 ID or its x402 version 1 name. */
export function findNetwork(name: string): Network | undefined {
  return NETWORKS.find(({ id, v1Name }) => name === id || name === v1Name);
}

/** A chain for payments, and the asset used on it. */
export type Network = {
  /** CAIP-2. */
  id: `eip155:${number}`;
  chainId: number;
  /**
   * The network's name in x402 version 1. Networks without one are offered in version 2 only, and so are networks whose
   * name isn't known to `x402-fetch` 1.2.0, because it rejects all terms if it doesn't know one of their networks.
   */
  v1Name?: string;
  title: string;
  isTestnet: boolean;
  /** A public node for looking up settlements. */
  rpcUrl: string;
  /** The URL of a transaction's page in a block explorer, without the transaction's hash at the end. */
  transactionUrl: string;
  /** Multicall3, if it isn't at the address that it has on nearly every chain (https://www.multicall3.com). */
  multicallAddress?: `0x${string}`;
  asset: {
    symbol: string;
    /** EIP-55 checksummed. */
    address: `0x${string}`;
    /** The contract's EIP-712 domain, used to sign authorizations. */
    name: string;
    version: string;
  };
};

const usdc = (address: `0x${string}`, name: string) => ({ symbol: 'USDC', address, name, version: '2' });

/**
 * USDC with EIP-3009, as Circle publishes it (https://developers.circle.com/stablecoins/usdc-contract-addresses), on
 * every network for which `@x402/evm` knows it, and on some others. The names in the signing domains really do differ.
 */
export const NETWORKS: readonly Network[] = [
  {
    id: 'eip155:8453',
    chainId: 8453,
    v1Name: 'base',
    title: 'Base',
    isTestnet: false,
    rpcUrl: 'https://mainnet.base.org',
    transactionUrl: 'https://basescan.org/tx/',
    asset: usdc('0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', 'USD Coin'),
  },
  {
    id: 'eip155:137',
    chainId: 137,
    v1Name: 'polygon',
    title: 'Polygon',
    isTestnet: false,
    rpcUrl: 'https://polygon.drpc.org',
    transactionUrl: 'https://polygonscan.com/tx/',
    asset: usdc('0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359', 'USD Coin'),
  },
  {
    id: 'eip155:42161',
    chainId: 42161,
    title: 'Arbitrum',
    isTestnet: false,
    rpcUrl: 'https://arb1.arbitrum.io/rpc',
    transactionUrl: 'https://arbiscan.io/tx/',
    asset: usdc('0xaf88d065e77c8cC2239327C5EDb3A432268e5831', 'USD Coin'),
  },
  {
    id: 'eip155:10',
    chainId: 10,
    title: 'OP Mainnet',
    isTestnet: false,
    rpcUrl: 'https://mainnet.optimism.io',
    transactionUrl: 'https://optimistic.etherscan.io/tx/',
    asset: usdc('0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85', 'USD Coin'),
  },
  {
    id: 'eip155:43114',
    chainId: 43114,
    v1Name: 'avalanche',
    title: 'Avalanche',
    isTestnet: false,
    rpcUrl: 'https://api.avax.network/ext/bc/C/rpc',
    transactionUrl: 'https://snowtrace.io/tx/',
    asset: usdc('0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E', 'USD Coin'),
  },
  {
    id: 'eip155:1',
    chainId: 1,
    title: 'Ethereum',
    isTestnet: false,
    rpcUrl: 'https://ethereum-rpc.publicnode.com',
    transactionUrl: 'https://etherscan.io/tx/',
    asset: usdc('0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', 'USD Coin'),
  },
  {
    id: 'eip155:42220',
    chainId: 42220,
    title: 'Celo',
    isTestnet: false,
    rpcUrl: 'https://forno.celo.org',
    transactionUrl: 'https://celoscan.io/tx/',
    asset: usdc('0xcebA9300f2b948710d2653dD7B07f33A8B32118C', 'USDC'),
  },
  {
    id: 'eip155:143',
    chainId: 143,
    title: 'Monad',
    isTestnet: false,
    rpcUrl: 'https://rpc.monad.xyz',
    transactionUrl: 'https://monadscan.com/tx/',
    asset: usdc('0x754704Bc059F8C67012fEd69BC8A327a5aafb603', 'USDC'),
  },
  {
    id: 'eip155:1329',
    chainId: 1329,
    v1Name: 'sei',
    title: 'Sei',
    isTestnet: false,
    rpcUrl: 'https://evm-rpc.sei-apis.com',
    transactionUrl: 'https://seiscan.io/tx/',
    asset: usdc('0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392', 'USDC'),
  },
  {
    id: 'eip155:50',
    chainId: 50,
    title: 'XDC',
    isTestnet: false,
    rpcUrl: 'https://rpc.xdcrpc.com',
    transactionUrl: 'https://xdcscan.com/tx/',
    multicallAddress: '0x0B1795ccA8E4eC4df02346a082df54D437F8D9aF',
    asset: usdc('0xfA2958CB79b0491CC627c1557F441eF849Ca8eb1', 'USDC'),
  },
  {
    id: 'eip155:84532',
    chainId: 84532,
    v1Name: 'base-sepolia',
    title: 'Base Sepolia',
    isTestnet: true,
    rpcUrl: 'https://sepolia.base.org',
    transactionUrl: 'https://sepolia.basescan.org/tx/',
    asset: usdc('0x036CbD53842c5426634e7929541eC2318f3dCF7e', 'USDC'),
  },
  {
    id: 'eip155:80002',
    chainId: 80002,
    v1Name: 'polygon-amoy',
    title: 'Polygon Amoy',
    isTestnet: true,
    rpcUrl: 'https://polygon-amoy.drpc.org',
    transactionUrl: 'https://amoy.polygonscan.com/tx/',
    asset: usdc('0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582', 'USDC'),
  },
  {
    id: 'eip155:421614',
    chainId: 421614,
    title: 'Arbitrum Sepolia',
    isTestnet: true,
    rpcUrl: 'https://sepolia-rollup.arbitrum.io/rpc',
    transactionUrl: 'https://sepolia.arbiscan.io/tx/',
    asset: usdc('0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d', 'USD Coin'),
  },
  {
    id: 'eip155:11155420',
    chainId: 11155420,
    title: 'OP Sepolia',
    isTestnet: true,
    rpcUrl: 'https://sepolia.optimism.io',
    transactionUrl: 'https://sepolia-optimism.etherscan.io/tx/',
    asset: usdc('0x5fd84259d66Cd46123540766Be93DFE6D43130D7', 'USDC'),
  },
  {
    id: 'eip155:43113',
    chainId: 43113,
    v1Name: 'avalanche-fuji',
    title: 'Avalanche Fuji',
    isTestnet: true,
    rpcUrl: 'https://api.avax-test.network/ext/bc/C/rpc',
    transactionUrl: 'https://testnet.snowtrace.io/tx/',
    asset: usdc('0x5425890298aed601595a70AB815c96711a31Bc65', 'USD Coin'),
  },
  {
    id: 'eip155:11142220',
    chainId: 11142220,
    title: 'Celo Sepolia',
    isTestnet: true,
    rpcUrl: 'https://forno.celo-sepolia.celo-testnet.org',
    transactionUrl: 'https://celo-sepolia.blockscout.com/tx/',
    asset: usdc('0x01C5C0122039549AD1493B8220cABEdD739BC44E', 'USDC'),
  },
  {
    id: 'eip155:1328',
    chainId: 1328,
    v1Name: 'sei-testnet',
    title: 'Sei Testnet',
    isTestnet: true,
    rpcUrl: 'https://evm-rpc-testnet.sei-apis.com',
    transactionUrl: 'https://testnet.seiscan.io/tx/',
    asset: usdc('0x4fCF1784B31630811181f670Aea7A7bEF803eaED', 'USDC'),
  },
  {
    id: 'eip155:51',
    chainId: 51,
    title: 'XDC Apothem',
    isTestnet: true,
    rpcUrl: 'https://erpc.apothem.network',
    transactionUrl: 'https://testnet.xdcscan.com/tx/',
    asset: usdc('0xb5AB69F7bBada22B28e79C8FFAECe55eF1c771D4', 'USDC'),
  },
];

export const NETWORK_IDS = NETWORKS.map(({ id }) => id);

/** Finds a network by its CAIP-2 ID or its x402 version 1 name. */
export function findNetwork(name: string): Network | undefined {
  return NETWORKS.find(({ id, v1Name }) => name === id || name === v1Name);
}

/** Finds a network by its name in a version of x402. */
export function findNetworkIn(version: 1 | 2, name: string): Network | undefined {
  return NETWORKS.find(({ id, v1Name }) => name === (version === 2 ? id : v1Name));
}

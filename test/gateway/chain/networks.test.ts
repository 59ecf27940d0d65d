import { DEFAULT_ASSETS } from '@x402/evm';
import { EVM_NETWORK_CHAIN_ID_MAP } from '@x402/evm/v1';
import { getAddress } from 'viem';
import { describe, expect, test } from 'vitest';
import { findNetwork, findNetworkIn, NETWORKS } from '../../../src/gateway/chain/networks.ts';

describe.each(NETWORKS.map((network) => [network.title, network] as const))('the network %s', (_title, network) => {
  test('has an ID that is made from its chain ID', () => {
    expect(network.id).toBe(`eip155:${network.chainId}`);
  });

  test('has a checksummed USDC address', () => {
    expect(network.asset.address).toBe(getAddress(network.asset.address.toLowerCase()));
  });

  test('has public HTTPS addresses for its node and its explorer', () => {
    expect(network.rpcUrl).toMatch(/^https:\/\//);
    expect(network.transactionUrl).toMatch(/^https:\/\/.+\/tx\/$/);
  });

  test('has the name that version 1 of x402 gives its chain, unless old clients fail if they see it', () => {
    const [name] = Object.entries(EVM_NETWORK_CHAIN_ID_MAP).find(([, chainId]) => chainId === network.chainId) ?? [];
    const isKnown = !['ethereum', 'celo', 'monad'].includes(name ?? '');
    expect(network.v1Name).toBe(isKnown ? name : undefined);
  });

  const [asset] = (DEFAULT_ASSETS as Record<string, typeof DEFAULT_ASSETS.default>)[network.id] ?? [];
  if (asset)
    test('has the asset that the stock client expects', () => {
      const { symbol, address, name, version } = network.asset;
      expect({ symbol, asset: address, name, version, decimals: 6 }).toEqual(asset);
    });
});

test('every network for which the stock client knows a USDC that is paid with an authorization', () => {
  const known = Object.entries(DEFAULT_ASSETS as Record<string, typeof DEFAULT_ASSETS.default>);
  const paidWithUsdc = known.filter(([id, assets]) => {
    const [first] = assets ?? [];
    return id.startsWith('eip155:') && first?.symbol === 'USDC' && !('assetTransferMethod' in first);
  });
  expect(paidWithUsdc.length).toBeGreaterThan(10);
  const served = new Set<string>(NETWORKS.map(({ id }) => id));
  expect(paidWithUsdc.map(([id]) => id).filter((id) => !served.has(id))).toEqual([]);
});

test('no two networks share an ID, a name, a node, an explorer, or a USDC address', () => {
  for (const property of ['id', 'chainId', 'v1Name', 'title', 'rpcUrl', 'transactionUrl'] as const) {
    const values = NETWORKS.map((network) => network[property]).filter((value) => value !== undefined);
    expect(new Set(values).size, property).toBe(values.length);
  }
  expect(new Set(NETWORKS.map(({ asset }) => asset.address)).size).toBe(NETWORKS.length);
});

test('a network is found by its ID, or by the name that it has in version 1', () => {
  expect(findNetwork('eip155:137')?.title).toBe('Polygon');
  expect(findNetwork('polygon')?.title).toBe('Polygon');
  expect(findNetwork('eip155:999')).toBeUndefined();
  expect(findNetworkIn(2, 'polygon')).toBeUndefined();
  expect(findNetworkIn(1, 'eip155:137')).toBeUndefined();
  expect(findNetworkIn(1, 'polygon')?.id).toBe('eip155:137');
  expect(findNetworkIn(1, '')).toBeUndefined();
});

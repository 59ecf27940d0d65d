import { parseAbi, type Transport } from 'viem';
import { USD_DECIMALS } from '../../money.ts';
import type { Network } from './networks.ts';
import { nodeClient } from './rpc.ts';

// ERC-20, and the public `version` of USDC's contracts (https://github.com/circlefin/stablecoin-evm).
const ABI = parseAbi([
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function decimals() view returns (uint8)',
]);

/**
 * Compares the token's contract with what the 402 response says about it. Buyers sign the name and the version, and the
 * price is converted with the decimals, so a difference makes payments fail or changes the price.
 *
 * @returns one sentence for each difference, so none if the token is the right one.
 * @throws Error if the node doesn't respond, or if there is no token at the address
 */
export async function tokenProblems({
  network,
  transport,
}: {
  network: Network;
  transport: Transport;
}): Promise<string[]> {
  const { address, name, version } = network.asset;
  const client = nodeClient(transport);
  const read = (functionName: 'name' | 'version' | 'decimals') =>
    client.readContract({ address, abi: ABI, functionName });
  const expected = { name, version, decimals: USD_DECIMALS } as const;
  const compared = Object.entries(expected).map(async ([property, value]) => {
    const actual = await read(property as keyof typeof expected);
    return actual === value
      ? []
      : [`The token's ${property} is ${JSON.stringify(actual)}, not ${JSON.stringify(value)}.`];
  });
  return (await Promise.all(compared)).flat();
}

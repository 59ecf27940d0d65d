import { findNetwork, type Network } from '../gateway/chain/networks.ts';
import type { VariableValues } from './variables.ts';

/** Free, for test networks only: https://docs.x402.org. Without `www.`, it redirects. */
export const PUBLIC_TEST_FACILITATOR = 'https://www.x402.org/facilitator';
const TEST_NETWORK = 'eip155:84532';

/** A network that this deployment accepts payments on, and the services that it uses for that network. */
export type ServedNetwork = { network: Network; facilitatorUrl: string; rpcUrl: string };

type Settings = Pick<
  VariableValues,
  'NODE_ENV' | 'NETWORK' | 'NETWORKS' | 'FACILITATOR_URL' | 'FACILITATOR_URLS' | 'RPC_URL' | 'RPC_URLS'
>;

/**
 * The networks from the configuration, preferred first. Empty in production if none is set: processes without the
 * `gateway` role don't need them.
 */
export function readNetworks(variables: Settings): ServedNetwork[] {
  const { FACILITATOR_URL, FACILITATOR_URLS, RPC_URL, RPC_URLS } = variables;
  return networksOf(variables).map((network) => ({
    network,
    facilitatorUrl: FACILITATOR_URLS?.[network.id] ?? FACILITATOR_URL ?? PUBLIC_TEST_FACILITATOR,
    rpcUrl: RPC_URLS?.[network.id] ?? RPC_URL ?? network.rpcUrl,
  }));
}

function networksOf({ NODE_ENV, NETWORK, NETWORKS }: Settings): Network[] {
  const fallback = NODE_ENV === 'production' ? [] : [TEST_NETWORK];
  const names = NETWORKS.length > 0 ? NETWORKS : NETWORK !== undefined ? [NETWORK] : fallback;
  return [...new Set(names.map((name) => findNetwork(name)!))];
}

/** Reports conflicts between the variables. */
export function networkProblems(variables: Settings): string[] {
  const { NETWORK, NETWORKS, RPC_URL } = variables;
  const networks = networksOf(variables);
  const problems: string[] = [];
  const isOther = NETWORK !== undefined && (networks.length > 1 || networks[0] !== findNetwork(NETWORK));
  if (NETWORKS.length > 0 && isOther) problems.push('NETWORKS: set either NETWORKS or NETWORK, not both');
  if (RPC_URL !== undefined && networks.length > 1)
    problems.push('RPC_URL: a node serves only one network. Set RPC_URLS instead');
  return problems;
}

/** Whether payments go only to test networks. */
export function areTestNetworks(served: readonly ServedNetwork[]): boolean {
  return served.every(({ network }) => network.isTestnet);
}

import type { Logger } from 'pino';
import type { Transport } from 'viem';
import type { EgressDoor } from '../../egress/egress.ts';
import { isSameSite } from '../../egress/redirects.ts';
import {
  FACILITATOR_REJECTED,
  type Facilitator,
  FacilitatorError,
  type FacilitatorOperation,
  REJECTS_EVERYTHING,
  type SupportedKind,
} from './facilitator.ts';
import { createFacilitatorAuth, type FacilitatorCredential } from './facilitator-auth.ts';
import { createHttpFacilitator } from './facilitator-http.ts';
import { createFacilitatorTurns, type FacilitatorTurns } from './facilitator-turns.ts';
import type { Network } from './networks.ts';
import { egressTransport } from './rpc.ts';
import { tokenProblems } from './token.ts';

/** Where payments on a network are verified, settled, and looked up. */
export type PaymentRail = { network: Network; facilitator: Facilitator; transport: Transport };

type RailConfig = {
  networks: readonly { network: Network; facilitatorUrl: string; rpcUrl: string }[];
  /** The facilitator that the credential is for. */
  facilitatorUrl: string;
  facilitatorCredential: FacilitatorCredential;
};

/** The facilitators and the nodes from the configuration, preferred network first. */
export function configuredRails(config: RailConfig, egress: EgressDoor): PaymentRail[] {
  const turnsAt = new Map<string, FacilitatorTurns>();
  return config.networks.map(({ network, facilitatorUrl: url, rpcUrl }) => {
    const turns = turnsAt.get(url) ?? createFacilitatorTurns();
    turnsAt.set(url, turns);
    const auth = createFacilitatorAuth(credentialFor(url, config));
    return {
      network,
      facilitator: createHttpFacilitator({ url, egress, auth, turns }),
      transport: egressTransport(egress, rpcUrl),
    };
  });
}

/** The credential must never be sent to another operator's facilitator. */
export function credentialFor(
  url: string,
  { facilitatorUrl, facilitatorCredential }: Omit<RailConfig, 'networks'>,
): FacilitatorCredential {
  return isSameSite(new URL(facilitatorUrl), new URL(url)) ? facilitatorCredential : { kind: 'none' };
}

/** The x402 versions whose payments a facilitator settles on this network. */
export function offeredVersions(kinds: SupportedKind[], network: Network): (1 | 2)[] {
  const names = { 1: network.v1Name ? [network.v1Name] : [], 2: [network.id, 'eip155:*'] };
  return ([1, 2] as const).filter((version) =>
    kinds.some(
      (kind) => kind.x402Version === version && kind.scheme === 'exact' && names[version].includes(kind.network),
    ),
  );
}

/** Logs why payments on a network would fail. */
export async function checkRail(rail: PaymentRail, log: Logger): Promise<void> {
  const { facilitator, network } = rail;
  await checkKinds(facilitator, network, log);
  for (const operation of ['verify', 'settle'] as const) await checkOperation(facilitator, operation, log);
  await checkNode(rail, log);
}

/** Logs whether the node is on another chain, or its token isn't the one that buyers are asked to sign for. */
async function checkNode({ network, transport }: PaymentRail, log: Logger): Promise<void> {
  const fields = { network: network.id };
  try {
    const chainId = Number(await transport({}).request({ method: 'eth_chainId' }));
    if (chainId !== network.chainId)
      return log.error({ ...fields, chainId }, 'the node is on a different chain than the network');
    const problems = await tokenProblems({ network, transport });
    if (problems.length > 0)
      log.error({ ...fields, problems }, 'payments fail, because the token has other properties');
  } catch (error) {
    log.warn({ ...fields, err: error }, "couldn't ask the node about its chain and the token");
  }
}

/**
 * Logs the x402 versions that the facilitator doesn't support on the network, because it rejects payments in those
 * versions.
 */
async function checkKinds(facilitator: Facilitator, network: Network, log: Logger): Promise<void> {
  try {
    const offered = offeredVersions(await facilitator.supported(), network);
    if (!offered.includes(2))
      log.error({ network: network.id }, "the facilitator doesn't settle payments on this network");
    else if (network.v1Name && !offered.includes(1)) {
      log.warn({ network: network.id }, "the facilitator doesn't settle x402 version 1 payments on this network");
    }
  } catch (error) {
    log.warn({ err: error }, "couldn't ask the facilitator which networks it supports");
  }
}

/** If only settlements fail, upstreams do work that nobody pays for. */
async function checkOperation(facilitator: Facilitator, operation: FacilitatorOperation, log: Logger): Promise<void> {
  try {
    const statusCode = await facilitator.probe(operation);
    if (REJECTS_EVERYTHING.has(statusCode))
      log.error({ operation, statusCode }, 'the facilitator rejects all requests for this operation');
  } catch (error) {
    const isRedirect = error instanceof FacilitatorError && error.reason === FACILITATOR_REJECTED;
    if (isRedirect) log.error({ operation, err: error }, 'the facilitator redirects, so payments fail');
    else log.warn({ operation, err: error }, "couldn't reach the facilitator");
  }
}

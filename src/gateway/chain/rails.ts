import type { Logger } from 'pino';
import type { Transport } from 'viem';
import type { EgressDoor } from '../../egress/egress.ts';
import type { Facilitator, SupportedKind } from './facilitator.ts';
import { createFacilitatorAuth, type FacilitatorCredential } from './facilitator-auth.ts';
import { createHttpFacilitator } from './facilitator-http.ts';
import type { Network } from './networks.ts';
import { egressTransport } from './rpc.ts';

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
  return config.networks.map(({ network, facilitatorUrl: url, rpcUrl }) => ({
    network,
    facilitator: createHttpFacilitator({ url, egress, auth: createFacilitatorAuth(credentialFor(url, config)) }),
    transport: egressTransport(egress, rpcUrl),
  }));
}

/** The credential must never be sent to another operator's facilitator. */
export function credentialFor(
  url: string,
  { facilitatorUrl, facilitatorCredential }: Omit<RailConfig, 'networks'>,
): FacilitatorCredential {
  return new URL(url).origin === new URL(facilitatorUrl).origin ? facilitatorCredential : { kind: 'none' };
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

/**
 * Logs the x402 versions that the facilitator doesn't support on the network, because it rejects payments in those
 * versions.
 */
export async function checkFacilitator(facilitator: Facilitator, network: Network, log: Logger): Promise<void> {
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

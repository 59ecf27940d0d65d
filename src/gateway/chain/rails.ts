import type { Logger } from 'pino';
import type { Transport } from 'viem';
import type { Egress } from '../../egress/egress.ts';
import type { Facilitator, SupportedKind } from './facilitator.ts';
import { createFacilitatorAuth, type FacilitatorCredential } from './facilitator-auth.ts';
import { createHttpFacilitator } from './facilitator-http.ts';
import type { Network } from './networks.ts';
import { egressTransport } from './rpc.ts';

/** Where payments are verified, settled, and looked up. */
export type PaymentRails = { facilitator: Facilitator; transport: Transport };

/** The facilitator and the node from the configuration. */
export function configuredRails(
  config: { facilitatorUrl: string; facilitatorCredential: FacilitatorCredential; rpcUrl: string },
  egress: Egress,
): PaymentRails {
  const auth = createFacilitatorAuth(config.facilitatorCredential);
  return {
    facilitator: createHttpFacilitator({ url: config.facilitatorUrl, egress, auth }),
    transport: egressTransport(egress, config.rpcUrl),
  };
}

/** The x402 versions whose payments a facilitator settles on this network. */
export function offeredVersions(kinds: SupportedKind[], network: Network): (1 | 2)[] {
  const names = { 1: [network.v1Name], 2: [network.id, 'eip155:*'] };
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
    else if (!offered.includes(1)) {
      log.warn({ network: network.id }, "the facilitator doesn't settle x402 version 1 payments on this network");
    }
  } catch (error) {
    log.warn({ err: error }, "couldn't ask the facilitator which networks it supports");
  }
}

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
  log: Logger,
): PaymentRails {
  const auth = createFacilitatorAuth(config.facilitatorCredential);
  return {
    facilitator: createHttpFacilitator({ url: config.facilitatorUrl, egress, auth, log }),
    transport: egressTransport(egress, config.rpcUrl),
  };
}

/** Whether a facilitator settles payments on this network. */
export function isOffered(kinds: SupportedKind[], network: Network): boolean {
  const names = [network.id, network.v1Name, 'eip155:*'];
  return kinds.some((kind) => kind.scheme === 'exact' && names.includes(kind.network));
}

/** Logs an error if the facilitator doesn't support the network, because every payment would be rejected. */
export async function checkFacilitator(facilitator: Facilitator, network: Network, log: Logger): Promise<void> {
  try {
    if (isOffered(await facilitator.supported(), network)) return;
    log.error({ network: network.id }, "the facilitator doesn't settle payments on this network");
  } catch (error) {
    log.warn({ err: error }, "couldn't ask the facilitator which networks it supports");
  }
}

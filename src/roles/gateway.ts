import type { FastifyInstance } from 'fastify';
import { createLedger } from '../features/payments/ledger.ts';
import { checkFacilitator, configuredRails, type PaymentRails } from '../gateway/chain/rails.ts';
import { startGateway } from '../gateway/gateway.ts';
import { registerGateway, rewriteHost } from '../gateway/register.ts';
import { openRouteTable } from '../gateway/routing/route-table.ts';
import type { ResponsePacing } from '../gateway/upstream/response-pacing.ts';
import { createUpstreamSigner } from '../gateway/upstream/signature.ts';
import { openRateLimiter } from '../limits/rate-limit.ts';
import type { Ground } from './ground.ts';

export type GatewayRoleOptions = {
  /** Where payments are settled, in place of what the configuration names. */
  rails?: PaymentRails | undefined;
  responsePacing?: ResponsePacing | undefined;
};

/**
 * Opens what a process with the role `gateway` serves: the paid routes. The HTTP server needs `rewriteUrl` when it is
 * made; `serve` adds the routes to it.
 */
export async function openGatewayRole(ground: Ground, { responsePacing, ...options }: GatewayRoleOptions) {
  const { config, log, db, bus, keyring, egress, events, metrics, onClose } = ground;
  const { network, publicUrl } = config;
  const routes = await openRouteTable({ db, bus, log });
  onClose(routes.close);

  return {
    rewriteUrl: rewriteHost(routes),

    serve(http: FastifyInstance): void {
      const rails = options.rails ?? configuredRails(config, egress, log);
      const ledger = createLedger({ db, events, bus, onStatus: metrics.onPaymentStatus });
      const rateLimiter = openRateLimiter(ground);
      const signer = createUpstreamSigner(keyring);
      const settings = { network, signer, rateLimiter, publicUrl, responsePacing, log };
      const gateway = startGateway({ routes, ledger, egress, rails, ...settings, metrics: metrics.gateway });
      onClose(gateway.stop);
      registerGateway(http, gateway.served);
      if (config.production) checkFacilitator(rails.facilitator, network, log);
    },
  };
}

import type { FastifyInstance } from 'fastify';
import { ownHostsOf } from '../config/own-hosts.ts';
import { openLane } from '../database/lane.ts';
import { createLedger } from '../features/payments/ledger.ts';
import { checkFacilitator, configuredRails } from '../gateway/chain/rails.ts';
import { startGateway } from '../gateway/gateway.ts';
import { createQuickDemands } from '../gateway/quick-demands.ts';
import { registerGateway, rewriteHost } from '../gateway/register.ts';
import { openRouteTable } from '../gateway/routing/route-table.ts';
import { createUpstreamSigner } from '../gateway/upstream/signature.ts';
import { answerFirst } from '../http/answer-first.ts';
import { openRateLimiter } from '../limits/rate-limit.ts';
import type { Ground } from './ground.ts';

/**
 * Opens what a process with the `gateway` role serves: the paid routes. Pass `rewriteUrl` to the HTTP server when you
 * create it, then let `serve` add the routes.
 */
export async function openGatewayRole(ground: Ground) {
  const { config, log, db, bus, keyring, egress, events, metrics, overrides, onClose } = ground;
  const { network, publicUrl } = config;
  const routes = await openRouteTable({ db, bus, log, ownHosts: ownHostsOf(config) });
  onClose(routes.close);

  return {
    rewriteUrl: rewriteHost(routes),

    serve(http: FastifyInstance): void {
      const rails = overrides.rails ?? configuredRails(config, egress);
      const lane = openLane({ url: db.directUrl, pool: db.pool, log });
      const ledger = createLedger({ db, lane, events, bus, onStatus: metrics.onPaymentStatus });
      const rateLimiter = openRateLimiter(ground);
      const signer = createUpstreamSigner(keyring);
      const quickDemands = createQuickDemands({ routes, publicUrl, log, onAnswer: metrics.onAnswer });
      const gateway = startGateway({
        ...{ routes, ledger, egress, rails, network, signer, rateLimiter, publicUrl, quickDemands, log },
        responsePacing: overrides.responsePacing,
        metrics: metrics.gateway,
      });
      onClose(async () => {
        await gateway.stop();
        await lane.close();
      });
      registerGateway(http, gateway.served);
      answerFirst(http.server, quickDemands.answer);
      if (config.production) checkFacilitator(rails.facilitator, network, log);
    },
  };
}

import type { FastifyInstance } from 'fastify';
import { ownHostsOf } from '../config/own-hosts.ts';
import { openLane } from '../database/lane.ts';
import { createLedger } from '../features/payments/ledger.ts';
import { checkRail, configuredRails } from '../gateway/chain/rails.ts';
import { createDetails } from '../gateway/discovery/details.ts';
import { openDocuments } from '../gateway/discovery/documents.ts';
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
  const { config, log, db, bus, keyring, secretBox, egress, serviceEgress, events, metrics, overrides, onClose } =
    ground;
  const { publicUrl, upstreamAllow, gatewayDomain } = config;
  const rails = overrides.rails ?? configuredRails(config, serviceEgress);
  const networks = rails.map(({ network }) => network);
  const routes = await openRouteTable({
    db,
    bus,
    log,
    networks,
    secretBox,
    ownHosts: ownHostsOf(config),
    gatewayDomain,
    maxAgeMilliseconds: overrides.maxRouteAgeMilliseconds,
  });
  onClose(routes.close);

  return {
    rewriteUrl: rewriteHost(routes),

    serve(http: FastifyInstance): void {
      const lane = openLane({ url: db.directUrl, pool: db.pool, log });
      const ledger = createLedger({ db, lane, events, bus, onStatus: metrics.onPaymentStatus });
      const rateLimiter = openRateLimiter(ground);
      const signer = createUpstreamSigner(keyring);
      const quickDemands = createQuickDemands({ routes, publicUrl, log, onAnswer: metrics.onAnswer });
      const documents = openDocuments({ db: db.pool, bus });
      onClose(documents.close);
      const gateway = startGateway({
        ...{ routes, ledger, egress, upstreamAllow, rails, signer, rateLimiter, publicUrl, quickDemands, log },
        now: overrides.now,
        responsePacing: overrides.responsePacing,
        responseMemory: overrides.responseMemory,
        maxCallsPerAddress: overrides.maxCallsPerAddress,
        detailsOf: createDetails(db.pool),
        documentsOf: documents.find,
        metrics: metrics.gateway,
      });
      onClose(async () => {
        await gateway.stop();
        await lane.close();
      });
      registerGateway(http, gateway.served);
      answerFirst(http.server, quickDemands.answer);
      if (config.production) for (const rail of rails) checkRail(rail, log);
    },
  };
}

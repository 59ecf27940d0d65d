import type { FastifyInstance } from 'fastify';
import { sharedNow } from '../clock.ts';
import { ownHostsOf } from '../config/own-hosts.ts';
import { openWriteBatcher } from '../database/write-batcher.ts';
import { createLedger } from '../features/payments/ledger.ts';
import { checkRail, configuredRails } from '../gateway/chain/rails.ts';
import { createDetails } from '../gateway/discovery/details.ts';
import { openDocuments } from '../gateway/discovery/documents.ts';
import { startGateway } from '../gateway/gateway.ts';
import { createPaymentRequiredCache } from '../gateway/payment-required-cache.ts';
import { registerGateway, rewriteHost } from '../gateway/register.ts';
import { openRouteTable } from '../gateway/routing/route-table.ts';
import { createUpstreamSigner } from '../gateway/upstream/signature.ts';
import { addRawHandler } from '../http/raw-handler.ts';
import { openRateLimiter } from '../limits/rate-limit.ts';
import type { AppResources } from './resources.ts';

/**
 * Opens what a process with the `gateway` role serves: the paid routes. Pass `rewriteUrl` to the HTTP server when you
 * create it, then let `serve` add the routes.
 */
export async function openGatewayRole(resources: AppResources) {
  const { config, log, db, bus, keyring, secretBox, egress, serviceEgress, events, metrics, overrides, onClose } =
    resources;
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
      const batcher = openWriteBatcher({ url: db.directUrl, pool: db.pool, log });
      const ledger = createLedger({
        db,
        batcher,
        events,
        bus,
        onStatus: metrics.onPaymentStatus,
        monotonicNow: overrides.rateLimitNow,
      });
      const rateLimiter = openRateLimiter(resources);
      const signer = createUpstreamSigner(keyring);
      const paymentRequiredCache = createPaymentRequiredCache({
        routes,
        publicUrl,
        log,
        onResponse: metrics.onResponse,
      });
      const documents = openDocuments({ db: db.pool, bus });
      onClose(documents.close);
      const gateway = startGateway({
        routes,
        ledger,
        egress,
        upstreamAllow,
        rails,
        signer,
        rateLimiter,
        poolSize: config.databasePoolSize,
        rateLimitNow: overrides.rateLimitNow,
        publicUrl,
        paymentRequiredCache,
        log,
        now: overrides.now ?? (() => new Date(sharedNow())),
        responsePacing: overrides.responsePacing,
        responseMemory: overrides.responseMemory,
        maxCallsPerAddress: overrides.maxCallsPerAddress,
        isOnHold: resources.hold.isOnHold,
        details: createDetails(db.pool),
        documentsOf: documents.find,
        metrics: metrics.gateway,
      });
      onClose(async () => {
        await gateway.stop();
        await batcher.close();
      });
      registerGateway(http, { ...gateway.served, gatewayDomain: config.gatewayDomain });
      addRawHandler(http.server, paymentRequiredCache.respond);
      if (config.production) for (const rail of rails) checkRail(rail, log);
    },
  };
}

import { isIP } from 'node:net';
import { join } from 'node:path';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { openDevIssuer } from './auth/dev-issuer.ts';
import { createTokenVerifier } from './auth/jwt.ts';
import { createAuthenticator, type Viewer } from './auth/viewer.ts';
import { followClock } from './clock.ts';
import type { Config } from './config.ts';
import { findConnector } from './connectors/registry.ts';
import { openDatabase } from './database/client.ts';
import { openDatabaseClock } from './database/clock.ts';
import { applyMigrations, MIGRATIONS } from './database/migrations.ts';
import { createConnectorProbe } from './delivery/probe-connector.ts';
import { RETRY_SCHEDULE_SECONDS } from './delivery/retry-policy.ts';
import type { DeliverySettings } from './delivery/worker.ts';
import { createEgress } from './egress/egress.ts';
import { createApiKeyService } from './features/api-keys/service.ts';
import { createAuditService } from './features/audit/service.ts';
import { createConnectorService } from './features/connectors/service.ts';
import { createCustomerService } from './features/customers/service.ts';
import { createDeliveryService } from './features/deliveries/service.ts';
import { createDeliveryStatsService } from './features/delivery-stats/service.ts';
import { createEndpointService } from './features/endpoints/service.ts';
import { createEventService } from './features/events/service.ts';
import type { PayloadVersions } from './features/events/versions.ts';
import { createIdempotencyStore } from './features/idempotency-store.ts';
import { createLedger } from './features/payments/ledger.ts';
import { createPaymentService } from './features/payments/service.ts';
import { createProjectService } from './features/projects/service.ts';
import { createReplayService } from './features/replays/service.ts';
import { createRevenueService } from './features/revenue/service.ts';
import { createUserService } from './features/users/service.ts';
import { createWebhookService } from './features/webhooks/service.ts';
import type { DeliveryLimits } from './gateway/answer-delivery.ts';
import { registerGateway, rewriteHost } from './gateway/register.ts';
import { openRouteTable } from './gateway/route-table.ts';
import { checkFacilitator, configuredRails, type PaymentRails, startGateway } from './gateway/start.ts';
import { createUpstreamSigner } from './gateway/upstream-signature.ts';
import type { GraphQLContext } from './graphql/context.ts';
import { registerGraphQL } from './graphql/http.ts';
import { schema } from './graphql/schema.ts';
import { createStreams } from './graphql/streams.ts';
import { serveWebSocket } from './graphql/websocket.ts';
import { createGraphQLServer } from './graphql/yoga.ts';
import { createAdmission } from './http/admission.ts';
import { clientAddress, trustProxies } from './http/client-address.ts';
import { registerConsole } from './http/console.ts';
import { consoleSettings, isLoopback, registerDevSignIn } from './http/console-sign-in.ts';
import { registerHealth } from './http/health.ts';
import { createHttpServer } from './http/server.ts';
import { createFailedCredentials } from './limits/failed-credentials.ts';
import { createMemoryRateLimiter, createPostgresRateLimiter } from './limits/rate-limit.ts';
import { openBus } from './live/bus.ts';
import { createLiveFeed } from './live/feed.ts';
import { createMetrics } from './metrics/metrics.ts';
import { registerRest } from './rest/register.ts';
import { ROUTES } from './rest/routes.ts';
import { loadKeyring } from './secrets/keyring.ts';
import { createSecretBox } from './secrets/secret-box.ts';
import type { Services } from './services.ts';
import { startWorkerRole } from './start-worker.ts';
import { VERSION } from './version.ts';

const CONSOLE = join(import.meta.dirname, '..', 'dist', 'console');

export type App = {
  /** Where it listens, once it does. */
  url: string;
  http: FastifyInstance;
  /** Stops taking requests, lets what runs finish, and closes everything. */
  stop(): Promise<void>;
};

export type AppOptions = {
  config: Config;
  /** The database of `config.databaseUrl`, or the embedded one. */
  databaseUrl: string;
  log: Logger;
  /** Loopback stand-ins for vendors' hosts; for tests alone, never from stored config. */
  hostOverrides?: Record<string, string>;
  delivery?: Partial<DeliverySettings>;
  /** How fast buyers must read their answers; for tests. */
  deliveryLimits?: DeliveryLimits;
  /** Versions of payloads in place of those there are; for tests alone. */
  payloadVersions?: PayloadVersions;
  /** Where payments are settled, in place of what the configuration names. */
  rails?: PaymentRails;
};

/**
 * Builds the whole service from its configuration and starts it. Everything that one module needs of another is handed
 * over here.
 */
export async function startApp(options: AppOptions): Promise<App> {
  const { config, databaseUrl, log, hostOverrides, delivery } = options;
  const closers: (() => Promise<unknown> | unknown)[] = [];
  const onClose = (close: () => Promise<unknown> | unknown) => closers.unshift(close);
  const closeAll = async () => {
    for (const close of closers)
      await Promise.resolve(close()).catch((error) => log.error({ err: error }, 'not closed'));
  };
  try {
    return await build();
  } catch (error) {
    await closeAll();
    throw error;
  }

  async function build(): Promise<App> {
    const db = await openDatabase({ url: databaseUrl, poolSize: config.databasePoolSize, log });
    onClose(() => db.close());
    const clock = await openDatabaseClock(db.pool, log);
    onClose(clock.close);
    followClock(clock.now);
    await applyMigrations(db.pool, MIGRATIONS, log);
    const metrics = createMetrics({ pool: db.pool });
    const bus = await openBus({ url: databaseUrl, pool: db.pool, log });
    onClose(() => bus.close());

    const keyring = await loadKeyring({ secretKeys: config.secretKeys, dataDir: config.dataDir });
    const secretBox = createSecretBox(keyring);
    const upstreamSigner = createUpstreamSigner(keyring);
    const egress = createEgress({
      allow: config.egressAllow,
      log,
      // As many as the worker may have in flight: waiting for a connection would count against the receiver.
      connectionsPerOrigin: 1024,
      ...(hostOverrides && { hostOverrides }),
    });
    onClose(() => egress.close());

    const devIssuer = config.issuers.length > 0 ? undefined : await openDevIssuer(config);
    const issuers = devIssuer ? [devIssuer.config] : config.issuers;
    const verifier = createTokenVerifier({ issuers, fetchJson: egress.fetchJson, log });
    await verifier.start();
    onClose(() => verifier.stop());
    const authenticator = createAuthenticator({ db, verifier, keyring, log });
    onClose(() => authenticator.close());
    const memory = createMemoryRateLimiter();
    const admission = createAdmission({
      authenticator,
      // With a database of one's own there may be more processes, which have to count together.
      rateLimiter: config.databaseUrl ? createPostgresRateLimiter({ pool: db.pool, log, fallback: memory }) : memory,
      failedCredentials: createFailedCredentials(),
      bus,
      onRateLimited: metrics.onRateLimited,
    });

    const versions = options.payloadVersions && { payloadVersions: options.payloadVersions };
    const events = createEventService({ db, bus, ...versions });
    const { egressAllow, production } = config;
    const userAgent = `Tollgate/${VERSION}`;
    const services: Services = {
      users: createUserService({ db }),
      projects: createProjectService({ db, bus, ownHosts: ownHostsOf(config), secretOf: upstreamSigner.secretOf }),
      endpoints: createEndpointService({ db, bus, events, egressAllow }),
      apiKeys: createApiKeyService({ db, bus, keyring, production }),
      webhooks: createWebhookService({ db, bus, ...versions, events, secretBox, egressAllow }),
      connectors: createConnectorService({
        db,
        bus,
        secretBox,
        events,
        egressAllow,
        probe: createConnectorProbe({ egress, userAgent }),
      }),
      events,
      deliveries: createDeliveryService({
        ...{ db, bus, secretBox, userAgent, ...versions },
        connectors: findConnector,
        retryScheduleSeconds: delivery?.retryScheduleSeconds ?? RETRY_SCHEDULE_SECONDS,
      }),
      deliveryStats: createDeliveryStatsService({ db }),
      replays: createReplayService({ db, bus }),
      payments: createPaymentService({ db }),
      customers: createCustomerService({ db }),
      revenue: createRevenueService({ db }),
      audit: createAuditService({ db }),
      feed: createLiveFeed({ db, bus }),
    };

    const streams = createStreams(admission);
    metrics.watch('liveStreams', streams.count);
    metrics.watch('liveSubscriptions', services.feed.subscriptionCount);
    const trustsProxy = trustProxies(config.trustedProxies);
    let isDraining = false;
    const routes = config.roles.has('gateway') ? await openRouteTable({ db, bus, log }) : undefined;
    onClose(() => routes?.close());
    const rewriteUrl = rewriteHost(routes);
    const http = createHttpServer({
      log,
      rewriteUrl,
      corsOrigins: config.corsOrigins,
      trustsProxy: config.trustedProxies.length > 0 && trustsProxy,
      onAnswer: ({ method, routeOptions }, { statusCode, elapsedTime }) =>
        metrics.onAnswer({ method, route: routeOptions.url ?? 'none', status: statusCode }, elapsedTime / 1000),
    });
    registerHealth(http, { db, metrics, isDraining: () => isDraining });

    const { onOperation } = metrics;
    const ownDocuments = new Set(ROUTES.map(({ document }) => document));
    const graphql = createGraphQLServer({ log, ownDocuments, onOperation });
    const makeContext = (viewer: Viewer, requestId: string): GraphQLContext => ({
      viewer,
      services,
      requestId,
      prisma: db.prisma,
    });
    if (config.roles.has('api')) {
      const contextOf = (request: FastifyRequest) => makeContext(request.viewer!, request.id);
      registerRest(http, {
        server: graphql,
        schema,
        admission,
        idempotency: createIdempotencyStore({ pool: db.pool, secretBox }),
        contextOf,
      });
      registerGraphQL(http, { server: graphql, admission, streams, contextOf });
      const sockets = serveWebSocket(http.server, {
        server: graphql,
        admission,
        streams,
        log,
        addressOf: (request) => clientAddress(request, trustsProxy),
        urlOf: rewriteUrl,
        contextOf: makeContext,
      });
      const signDevToken = isLoopback(config.host) ? devIssuer?.sign : undefined;
      if (signDevToken) registerDevSignIn(http, signDevToken);
      const settings = consoleSettings(config.consoleClient, signDevToken !== undefined);
      await registerConsole(http, { folder: CONSOLE, settings });
      // Before the server waits for its connections to end.
      http.addHook('preClose', () => sockets.close());
    }

    if (routes) {
      const { network, publicUrl } = config;
      const rails = options.rails ?? configuredRails(config, egress, log);
      const ledger = createLedger({ db, events, bus, onStatus: metrics.onPaymentStatus });
      const { deliveryLimits } = options;
      const settings = { network, signer: upstreamSigner, publicUrl, deliveryLimits, log };
      const gateway = startGateway({ routes, ledger, egress, rails, ...settings, metrics: metrics.gateway });
      onClose(gateway.stop);
      registerGateway(http, gateway.served);
      if (production) checkFacilitator(rails.facilitator, network, log);
    }

    if (config.roles.has('worker')) {
      const { retentionDays } = config;
      startWorkerRole({
        ...{ db, egress, secretBox, bus, events, log, metrics, retentionDays, onClose },
        ...(options.payloadVersions && { payloadVersions: options.payloadVersions }),
        delivery: { version: VERSION, ...delivery },
      });
    }

    await http.listen({ port: config.port, host: config.host });
    onClose(() => http.close());
    const address = http.server.address();
    const port = typeof address === 'object' && address ? address.port : config.port;
    const host = isIP(config.host) === 6 ? `[${config.host}]` : config.host;
    return {
      url: config.publicUrl ?? `http://${host === '0.0.0.0' ? '127.0.0.1' : host}:${port}`,
      http,
      async stop() {
        isDraining = true;
        await closeAll();
      },
    };
  }
}

/** The host names under which the service itself is reached. */
function ownHostsOf({ host, publicUrl }: Config): ReadonlySet<string> {
  return new Set([host.toLowerCase(), ...(publicUrl ? [new URL(publicUrl).hostname] : [])]);
}

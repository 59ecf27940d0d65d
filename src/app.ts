import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { openBus } from './bus/bus.ts';
import { followClock } from './clock.ts';
import type { Config } from './config/config.ts';
import { openDatabase } from './database/client.ts';
import { openDatabaseClock } from './database/clock.ts';
import { UnusableDatabaseError } from './database/connection.ts';
import { applyMigrations, MIGRATIONS } from './database/migrations.ts';
import { PoolerSettingsError } from './database/pooler.ts';
import { behindWall } from './database/tenant-client.ts';
import { isLoopback } from './egress/address.ts';
import { anyOf } from './egress/allow-list.ts';
import { createEgress } from './egress/egress.ts';
import { createEventService } from './features/events/service.ts';
import { trustProxies } from './http/client-address.ts';
import { registerHealth } from './http/health.ts';
import { urlOfAddress } from './http/listening.ts';
import { createHttpServer } from './http/server.ts';
import { lostLogLines } from './log.ts';
import { createMetrics } from './metrics/metrics.ts';
import { openHold } from './roles/hold.ts';
import type { Overrides } from './roles/overrides.ts';
import type { AppResources } from './roles/resources.ts';
import { loadKeyring } from './secrets/keyring.ts';
import { createSecretBox } from './secrets/secret-box.ts';

export type App = {
  /** The address that the service listens on. */
  url: string;
  http: FastifyInstance;
  /** Stops accepting requests, waits for work in progress, and closes everything. */
  stop(): Promise<void>;
};

export type AppOptions = {
  config: Config;
  /** The database at `config.databaseUrl`, or the embedded one. */
  databaseUrl: string;
  log: Logger;
  /** For tests. */
  overrides?: Overrides | undefined;
};

/**
 * Builds the service from its configuration and starts it: the shared parts first, then this process's roles.
 * Doesn't load code for other roles, because that code would take up more memory than a worker itself needs.
 */
export async function startApp(options: AppOptions): Promise<App> {
  const { config, databaseUrl, log, overrides = {} } = options;
  const closers: (() => Promise<unknown> | unknown)[] = [];
  const onClose = (close: () => Promise<unknown> | unknown) => closers.unshift(close);
  const closeAll = async () => {
    for (const close of closers)
      await Promise.resolve(close()).catch((error) => log.error({ err: error }, 'could not close a resource'));
  };
  try {
    return await build();
  } catch (error) {
    await closeAll();
    throw error;
  }

  async function build(): Promise<App> {
    const resources = await openResources();
    const { db, metrics, hold } = resources;
    const { roles } = config;
    const gateway = roles.has('gateway') ? await openGateway(resources) : undefined;
    const rewriteUrl = gateway?.rewriteUrl ?? urlOf;

    let isDraining = false;
    const http = createHttpServer({
      log,
      rewriteUrl,
      publicUrl: config.publicUrl,
      allowedOrigins: { listed: config.corsOrigins, allowsLocal: !config.production && isLoopback(config.host) },
      proxies: resources.proxies,
      onResponse: ({ method, routeOptions }, { statusCode, elapsedTime }) =>
        metrics.onResponse({ method, route: routeOptions.url ?? 'none', status: statusCode }, elapsedTime / 1000),
    });
    registerHealth(http, { db, metrics, isDraining: () => isDraining, explainHold: hold.explain });
    if (roles.has('api')) {
      const { serveApiRole } = await import('./roles/api.ts');
      await serveApiRole(resources, http);
    }
    gateway?.serve(http);
    // Running requests need everything that was opened before, but not the worker. It stops while they finish, because
    // a client can keep a request from finishing until the process has to exit.
    let finished: Promise<unknown> | undefined;
    onClose(() => finished);
    if (roles.has('worker')) {
      const { startWorkerRole } = await import('./roles/worker.ts');
      startWorkerRole(resources, () => consoleOrigin(http));
    }

    await http.listen({ port: config.port, host: config.host });
    onClose(() => {
      finished = http.close();
      // Whoever waits for it reports the error.
      finished.catch(() => {});
    });
    return {
      url: config.publicUrl ?? listeningUrl(http),
      http,
      async stop() {
        isDraining = true;
        await closeAll();
      },
    };
  }

  function listeningUrl({ server }: FastifyInstance): string {
    const address = server.address();
    const port = typeof address === 'object' && address ? address.port : config.port;
    return urlOfAddress({ host: config.host, port });
  }

  /** The console's origin, or undefined if it isn't known, as in production without `PUBLIC_URL`. */
  function consoleOrigin(http: FastifyInstance): string | undefined {
    const { publicUrl, production, roles } = config;
    const isHere = !production && roles.has('api') && http.server.listening;
    return publicUrl ?? (isHere ? listeningUrl(http) : undefined);
  }

  async function openResources(): Promise<AppResources> {
    const db = await openDatabase({
      url: databaseUrl,
      directUrl: config.databaseDirectUrl,
      poolSize: config.databasePoolSize,
      log,
    }).catch((error) => {
      throw error instanceof PoolerSettingsError ? error : new UnusableDatabaseError(databaseUrl, error);
    });
    onClose(() => db.close());
    const clock = await openDatabaseClock(db.pool, log);
    onClose(clock.close);
    followClock(clock.now);
    await applyMigrations(db.directUrl, MIGRATIONS, log);
    const metrics = createMetrics({ pool: db.pool, log });
    onClose(metrics.close);
    metrics.watch('clockOffset', clock.offsetSeconds);
    metrics.watch('lostLogLines', lostLogLines);
    const bus = await openBus({ url: db.directUrl, pool: db.pool, log });
    onClose(() => bus.close());
    const hold = await openHold({ db, bus, log });
    onClose(hold.close);
    metrics.watch('onHold', () => Number(hold.isOnHold()));
    const keyring = await loadKeyring({ secretKeys: config.secretKeys, dataDir: config.dataDir });
    const egress = createEgress({
      allow: config.egressAllow,
      proxy: config.egressProxy,
      log,
      // Must exceed the worker's limit on concurrent webhook requests to an origin. Otherwise, requests would wait for a
      // connection, and that wait would count against the destination. Requests to servers whose responses can take as
      // long as a seller wants have their own connections.
      connectionsPerOrigin: 1024,
      ...(overrides.hostOverrides && { hostOverrides: overrides.hostOverrides }),
    });
    onClose(() => egress.close());
    const { payloadVersions } = overrides;
    return {
      config,
      log,
      db,
      bus,
      keyring,
      egress,
      metrics,
      hold,
      proxies: trustProxies(config.trustedProxies, log),
      overrides,
      onClose,
      serviceEgress: egress.within(anyOf(config.egressAllow, config.serviceAllow)),
      secretBox: createSecretBox(keyring),
      events: createEventService({ db: behindWall(db), bus, ...(payloadVersions && { payloadVersions }) }),
    };
  }

  async function openGateway(resources: AppResources) {
    const { openGatewayRole } = await import('./roles/gateway.ts');
    return openGatewayRole(resources);
  }
}

const urlOf = ({ url = '/' }: Pick<IncomingMessage, 'url'>): string => url;

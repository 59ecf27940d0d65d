import { join } from 'node:path';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { openDevIssuer } from '../auth/dev-issuer.ts';
import type { IssuerConfig } from '../auth/issuer-config.ts';
import { createTokenVerifier } from '../auth/jwt.ts';
import { createKnownCredentials } from '../auth/known-credentials.ts';
import { createRequireRecentSignIn } from '../auth/recent-sign-in.ts';
import { createAuthenticator, type IdentifyAgain, type Viewer } from '../auth/viewer.ts';
import { sharedNow } from '../clock.ts';
import { ownHostsOf } from '../config/own-hosts.ts';
import { findConnector } from '../connectors/types/registry.ts';
import { behindWall } from '../database/tenant-client.ts';
import { createWithToken } from '../delivery/send/access-tokens.ts';
import { isLoopback } from '../egress/address.ts';
import { createAccountService } from '../features/accounts/service.ts';
import { createApiKeyService } from '../features/api-keys/service.ts';
import { createAuditService } from '../features/audit/service.ts';
import { createConnectorAuthorizations } from '../features/connectors/authorizations.ts';
import { createProbe } from '../features/connectors/probe.ts';
import { createConnectorService } from '../features/connectors/service.ts';
import { createCustomerService } from '../features/customers/service.ts';
import { createDeliveryService } from '../features/deliveries/service.ts';
import { createDeliveryStatsService } from '../features/delivery-stats/service.ts';
import { createEndpointService } from '../features/endpoints/service.ts';
import { createIdempotencyStore } from '../features/idempotency/store.ts';
import { createReadDocument } from '../features/imports/openapi/read-document.ts';
import { createImportService } from '../features/imports/service.ts';
import { createInvitationService } from '../features/members/invitations/service.ts';
import { createMemberService } from '../features/members/service.ts';
import { createTransferService } from '../features/members/transfers/service.ts';
import { createNoticeService } from '../features/notices/service.ts';
import { createOperatorService } from '../features/operator/service.ts';
import { createPaymentService } from '../features/payments/service.ts';
import { createProjectCopyService } from '../features/project-copies/service.ts';
import { createBuyerRuleService } from '../features/projects/buyers/service.ts';
import { openHostChecker } from '../features/projects/hosts/open-checker.ts';
import { createHostService } from '../features/projects/hosts/service.ts';
import { createProjectService } from '../features/projects/service.ts';
import { createUpstreamSecretService } from '../features/projects/upstream-secret/service.ts';
import { warnAboutModes } from '../features/projects/warn-about-modes.ts';
import { createReplayService } from '../features/replays/service.ts';
import { createRevenueService } from '../features/revenue/service.ts';
import { createSearchService } from '../features/search/service.ts';
import { createUserService } from '../features/users/service.ts';
import { createWebhookService } from '../features/webhooks/service.ts';
import { createUpstreamSigner } from '../gateway/upstream/signature.ts';
import { openConsoleReads } from '../graphql/console-reads.ts';
import { registerGraphQL } from '../graphql/http.ts';
import { schema } from '../graphql/schema.ts';
import { createStreams } from '../graphql/streams.ts';
import { serveWebSocket } from '../graphql/websocket.ts';
import { createGraphQLServer } from '../graphql/yoga.ts';
import { type Authentication, createAuthentication } from '../http/authentication.ts';
import { registerConsole } from '../http/console.ts';
import { consoleSettings, registerDevSignIn } from '../http/console-sign-in.ts';
import { registerDocs } from '../http/docs.ts';
import { registerTestPayments } from '../http/test-payments.ts';
import { createBacklogs } from '../limits/backlog.ts';
import { createFailedCredentials } from '../limits/failed-credentials.ts';
import { openRateLimiter } from '../limits/rate-limit.ts';
import { createLiveFeed } from '../live/feed.ts';
import { registerRest } from '../rest/register.ts';
import { ROUTES } from '../rest/routes.ts';
import type { GraphQLContext, Services } from '../schema/context.ts';
import { USER_AGENT } from '../version.ts';
import type { AppResources } from './resources.ts';

const DIST = join(import.meta.dirname, '..', '..', 'dist');
const REFUSED_CREDENTIALS_PER_MINUTE = 30;

/** Adds what a process with the `api` role serves: GraphQL, REST, the console, and the documentation. */
export async function serveApiRole(resources: AppResources, http: FastifyInstance): Promise<void> {
  const { config, log, db, bus, secretBox, metrics, onClose } = resources;
  const devIssuer = config.issuers.length > 0 ? undefined : await openDevIssuer(config);
  const authentication = await openAuthentication(resources, devIssuer ? [devIssuer.config] : config.issuers);
  const services = createServices(resources);
  const networks = config.networks.map(({ network }) => network);
  warnAboutModes({ db, networks, log }).catch((error) => log.warn({ err: error }, "couldn't check projects' modes"));

  const backlogs = createBacklogs({ onDrop: metrics.onStreamDropped });
  const streams = createStreams(authentication, backlogs);
  metrics.watch('liveBacklog', backlogs.bytes);
  metrics.watch('liveStreams', streams.count);
  metrics.watch('liveSubscriptions', services.feed.subscriptionCount);
  const ownDocuments = new Set(ROUTES.map(({ document }) => document));
  const server = createGraphQLServer({
    log,
    ownDocuments,
    publicUrl: config.publicUrl,
    poolSize: config.databasePoolSize,
    operationMilliseconds: resources.overrides.operationMilliseconds,
    turns: resources.overrides.turns,
    onOperation: metrics.onOperation,
  });
  const makeContext = (viewer: Viewer, requestId: string, identifyAgain: IdentifyAgain): GraphQLContext => ({
    viewer,
    services,
    requestId,
    identifyAgain,
    prisma: db.prisma,
  });
  const contextOf = ({ viewer, id, headers, ip }: FastifyRequest) =>
    makeContext(viewer!, id, () => authentication.identify(headers.authorization, ip));

  const idempotency = createIdempotencyStore({ pool: db.pool, poolSize: config.databasePoolSize, secretBox });
  registerRest(http, {
    server,
    schema,
    authentication,
    idempotency,
    backlogs,
    contextOf,
    routes: resources.overrides.routes ?? ROUTES,
    publicUrl: config.publicUrl,
    exports: resources.overrides.exports,
  });
  const consoleReads = await openConsoleReads(join(DIST, 'console'));
  registerGraphQL(http, {
    server,
    authentication,
    streams,
    consoleReads,
    idempotency,
    contextOf,
    hasExplorer: config.graphqlExplorer,
    publicUrl: config.publicUrl,
  });
  const sockets = serveWebSocket(http.server, {
    server,
    authentication,
    streams,
    consoleReads,
    log,
    addressOf: (request) => resources.proxies.clientOf(request).address,
    contextOf: makeContext,
  });
  // Runs before the server starts waiting for its connections to end.
  http.addHook('preClose', () => sockets.close());

  const signDevToken = isLoopback(config.host) ? devIssuer?.sign : undefined;
  if (signDevToken) registerDevSignIn(http, signDevToken);
  const pay = isLoopback(config.host) ? resources.overrides.testPayments?.pay : undefined;
  if (pay) registerTestPayments(http, authentication, pay);
  const settings = consoleSettings(config.consoleClient, {
    mayUseDevIssuer: signDevToken !== undefined,
    hasTestPayments: pay !== undefined,
    hasExplorer: config.graphqlExplorer,
  });
  await registerConsole(http, { folder: join(DIST, 'console'), settings });
  await registerDocs(http, { folder: join(DIST, 'docs') });

  async function openAuthentication(
    { keyring, serviceEgress }: AppResources,
    issuers: IssuerConfig[],
  ): Promise<Authentication> {
    const now = resources.overrides.tokenNow ?? sharedNow;
    const verifier = createTokenVerifier({ issuers, fetchJson: serviceEgress.fetchJson, log, now });
    await verifier.start();
    onClose(() => verifier.stop());
    const authenticator = createAuthenticator({
      db,
      verifier,
      keyring,
      operators: config.operators,
      log,
      poolSize: config.databasePoolSize,
    });
    onClose(() => authenticator.close());
    const rateLimiter = openRateLimiter(resources);
    return createAuthentication({
      authenticator,
      rateLimiter,
      db,
      failedCredentials: createFailedCredentials({
        rateLimiter,
        scope: 'credentials',
        what: 'credentials',
        failuresPerMinute: REFUSED_CREDENTIALS_PER_MINUTE,
      }),
      knownCredentials: createKnownCredentials(),
      bus,
      credentialRecheckMilliseconds: resources.overrides.credentialRecheckMilliseconds,
      onRateLimited: metrics.onRateLimited,
    });
  }
}

function createServices(resources: AppResources): Services {
  const { config, bus, keyring, secretBox, egress, events, overrides, hold } = resources;
  const { isOnHold, requireNoHold } = hold;
  const db = behindWall(resources.db);
  const { egressAllow, upstreamAllow, webhookAllow, production, publicUrl, oauthApps, gatewayDomain } = config;
  const networks = config.networks.map(({ network }) => network);
  const canSendEmail = config.mail !== undefined;
  const { payloadVersions, operationMilliseconds } = overrides;
  const versions = payloadVersions && { payloadVersions };
  const withToken = createWithToken({
    pool: db.pool,
    egressOf: () => egress,
    secretBox,
    userAgent: USER_AGENT,
    oauthApps,
  });
  const probe = createProbe({ db: db.pool, egress, withToken, userAgent: USER_AGENT });
  const requireRecentSignIn = createRequireRecentSignIn(config.recentSignInSeconds);
  const hostRules = { ownHosts: ownHostsOf(config), production };
  const projects = createProjectService({
    db,
    bus,
    networks,
    hostRules,
    upstreamAllow,
    secretBox,
    gatewayDomain,
    requireRecentSignIn,
  });
  const endpoints = createEndpointService({
    db,
    bus,
    events,
    egressAllow,
    upstreamAllow,
    secretBox,
    requireRecentSignIn,
  });
  const connectors = createConnectorService({ db, bus, secretBox, events, egressAllow, probe, requireNoHold });
  return {
    installation: { isOnHold },
    users: createUserService({ db }),
    operator: createOperatorService({ db, bus, operators: config.operators, log: resources.log }),
    accounts: createAccountService({ db, bus, log: resources.log }),
    projects,
    projectCopies: createProjectCopyService({
      db,
      bus,
      events,
      secretBox,
      upstreamAllow,
      gatewayDomain,
      networkRules: projects.networkRules,
      requireRecentSignIn,
    }),
    endpoints,
    imports: createImportService({
      db,
      egress,
      egressAllow,
      upstreamAllow,
      endpoints,
      readDocument: createReadDocument({ operationMilliseconds }),
      operationMilliseconds,
    }),
    apiKeys: createApiKeyService({ db, bus, keyring, networks, requireRecentSignIn }),
    buyerRules: createBuyerRuleService({ db, bus }),
    upstreamSecrets: createUpstreamSecretService({ db, bus, secretOf: createUpstreamSigner(keyring).secretOf }),
    hosts: createHostService({ db, checker: openHostChecker(resources), rateLimiter: openRateLimiter(resources) }),
    gatewayAddresses: { publicUrl, gatewayDomain },
    webhooks: createWebhookService({ db, bus, ...versions, events, secretBox, webhookAllow }),
    connectors,
    connectorAuthorizations: createConnectorAuthorizations({
      db,
      secretBox,
      egress,
      egressAllow,
      requireNoHold,
      connectors,
      oauthApps,
      publicUrl,
      userAgent: USER_AGENT,
    }),
    events,
    deliveries: createDeliveryService({
      db,
      bus,
      secretBox,
      userAgent: USER_AGENT,
      ...versions,
      connectors: findConnector,
      retryScheduleSeconds: overrides.delivery?.retryScheduleSeconds,
    }),
    deliveryStats: createDeliveryStatsService({ db }),
    notices: createNoticeService({ db, secretBox, egressAllow, publicUrl, canSendEmail }),
    members: createMemberService({ db, bus, requireRecentSignIn }),
    invitations: createInvitationService({ db, bus, publicUrl, canSendEmail, requireRecentSignIn }),
    transfers: createTransferService({ db, bus, publicUrl, canSendEmail, requireRecentSignIn }),
    replays: createReplayService({ db, bus }),
    payments: createPaymentService({ db, isLocalChain: config.sandbox }),
    customers: createCustomerService({ db }),
    revenue: createRevenueService({ db }),
    audit: createAuditService({ db }),
    search: createSearchService({ db }),
    feed: createLiveFeed({ db, bus }),
  };
}

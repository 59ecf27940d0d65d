import { topics } from '../bus/bus.ts';
import { findConnector } from '../connectors/types/registry.ts';
import { openQueuePool } from '../database/client.ts';
import { createPartitionKeeper } from '../database/partitions.ts';
import { createReplayRunner } from '../delivery/replay/runner.ts';
import { createWithToken } from '../delivery/send/access-tokens.ts';
import { createDeliveryWorker } from '../delivery/worker.ts';
import { createDueProbes } from '../features/connectors/due-probes.ts';
import { createIdleTokens } from '../features/connectors/idle-tokens.ts';
import { createProbe } from '../features/connectors/probe.ts';
import { createHistoryClearing } from '../features/deletions/clear-history.ts';
import { createRollups } from '../features/delivery-stats/rollups.ts';
import { createNoticeChecks } from '../features/notices/checks.ts';
import { createMailer } from '../features/notices/mailer.ts';
import { createNoticeRunner } from '../features/notices/runner.ts';
import { openHostChecker } from '../features/projects/hosts/open-checker.ts';
import { assignMissingSlugs } from '../features/projects/slugs.ts';
import { createDailySummaries } from '../features/revenue/daily-summary.ts';
import { USER_AGENT, VERSION } from '../version.ts';
import type { AppResources } from './resources.ts';
import { CLEAN_UPS, startSweeps } from './sweeps.ts';

const PROBES_SECONDS = 30;
const NOTICE_CHECKS_SECONDS = 50;
const IDLE_TOKENS_SECONDS = 3600;
const HOST_CHECKS_SECONDS = 50;
const SLUGS_SECONDS = 300;

/**
 * Starts everything that a process with the `worker` role runs: deliveries, replays, daily summaries, rollups,
 * notices, retention, sweeps, and probes.
 */
export function startWorkerRole(resources: AppResources, consoleOrigin: () => string | undefined): void {
  const { config, db, egress, secretBox, bus, events, log, metrics, overrides, onClose } = resources;
  const { isOnHold } = resources.hold;
  const { payloadVersions } = overrides;
  const { oauthApps } = config;
  const consoleUrl = ({ id, projectId }: { id: string; projectId: string }) => {
    const origin = consoleOrigin();
    return origin && `${origin}/console/projects/${projectId}/events/${id}`;
  };
  const queuePool = openQueuePool({ url: db.directUrl, log });
  onClose(() => queuePool.end());
  metrics.watchPool('queue', queuePool);
  const worker = createDeliveryWorker({
    db: { pool: queuePool },
    egress,
    secretBox,
    bus,
    connectors: findConnector,
    log,
    webhookEgress: (projectId) => egress.within(config.webhookAllow.of(projectId)),
    ...(payloadVersions && { payloadVersions }),
    metrics: metrics.delivery,
    isOnHold,
    oauthApps,
    settings: { version: VERSION, consoleUrl, isLocalChain: config.sandbox, ...overrides.delivery },
  });
  metrics.watch('deliveriesInFlight', () => worker.stats().inFlight);
  metrics.watch('failingDestinations', () => worker.stats().failingDestinations);
  const { retentionDays } = config;
  const partitions = createPartitionKeeper({ pool: db.pool, log, retentionDays, onKept: metrics.onPartitionsKept });
  // The delivery worker stops first, so that its requests in flight have time to finish.
  const loops = [
    createReplayRunner({ db, bus, log, isOnHold }),
    createDailySummaries({ db, events, log, isOnHold }),
    createRollups({ pool: db.pool, log }),
    createHistoryClearing({ pool: db.pool, bus, log, onCleared: metrics.onHistoryCleared }),
    createNoticeRunner({
      pool: db.pool,
      egress,
      secretBox,
      consoleOrigin,
      log,
      userAgent: USER_AGENT,
      mailer: config.mail && createMailer(config.mail, egress),
      isOnHold,
    }),
    partitions,
    worker,
  ];
  for (const loop of loops) {
    loop.start();
    onClose(() => loop.stop());
  }
  const withToken = createWithToken({
    pool: db.pool,
    egressOf: () => egress,
    secretBox,
    userAgent: USER_AGENT,
    oauthApps,
  });
  const probe = createProbe({ db: db.pool, egress, withToken, userAgent: USER_AGENT });
  const probes = { periodSeconds: PROBES_SECONDS, run: createDueProbes({ bus, secretBox, probe, log }) };
  const noticeChecks = { periodSeconds: NOTICE_CHECKS_SECONDS, run: createNoticeChecks({ retentionDays, log }) };
  const idleTokens = { periodSeconds: IDLE_TOKENS_SECONDS, run: createIdleTokens({ secretBox, withToken, log }) };
  const hostChecks = { periodSeconds: HOST_CHECKS_SECONDS, run: openHostChecker(resources).checkDue };
  const slugs = { periodSeconds: SLUGS_SECONDS, run: () => giveSlugs(resources) };
  const harmless = { ...CLEAN_UPS, slugs };
  const all = { ...harmless, probes, noticeChecks, idleTokens, hostChecks };
  onClose(startSweeps(db.pool, log, () => (isOnHold() ? harmless : all)));
}

/** Gives a name under the operator's domain to projects that were created before the domain was set. */
async function giveSlugs({ db, bus, config }: AppResources): Promise<void> {
  if (config.gatewayDomain === undefined) return;
  if ((await assignMissingSlugs(db)) > 0) bus.publish(topics.gatewayHosts);
}

import { findConnector } from '../connectors/types/registry.ts';
import { type Database, openQueuePool } from '../database/client.ts';
import { createPartitionKeeper } from '../database/partitions.ts';
import { createReplayRunner } from '../delivery/replay/runner.ts';
import { createDeliveryWorker } from '../delivery/worker.ts';
import { createHistoryClearing } from '../features/deletions/clear-history.ts';
import { sweepIdempotencyKeys } from '../features/idempotency/store.ts';
import { sweepRefusedPayments } from '../features/payments/refused-sweep.ts';
import { sweepKeptResponses } from '../features/payments/response-sweep.ts';
import { sweepReleasedHosts } from '../features/projects/host-names.ts';
import { createDailySummaries } from '../features/revenue/daily-summary.ts';
import { sweepRateLimits } from '../limits/rate-limit.ts';
import { VERSION } from '../version.ts';
import type { Ground } from './ground.ts';

const SWEEP_MILLISECONDS = 10 * 60_000;
const SWEEPS: readonly ((pool: Database['pool']) => Promise<unknown>)[] = [
  sweepRateLimits,
  sweepIdempotencyKeys,
  sweepKeptResponses,
  sweepRefusedPayments,
  sweepReleasedHosts,
];

/** Starts what a process with the `worker` role runs: deliveries, replays, daily summaries, retention, and sweeps. */
export function startWorkerRole(ground: Ground, consoleOrigin: () => string | undefined): void {
  const { config, db, egress, secretBox, bus, events, log, metrics, overrides, onClose } = ground;
  const { payloadVersions } = overrides;
  const consoleUrl = ({ id, projectId }: { id: string; projectId: string }) => {
    const origin = consoleOrigin();
    return origin && `${origin}/console/projects/${projectId}/events/${id}`;
  };
  const queuePool = openQueuePool({ url: db.url, log });
  onClose(() => queuePool.end());
  metrics.watchPool('queue', queuePool);
  const worker = createDeliveryWorker({
    ...{ db: { pool: queuePool }, egress, secretBox, bus, connectors: findConnector, log },
    ...(payloadVersions && { payloadVersions }),
    metrics: metrics.delivery,
    settings: { version: VERSION, consoleUrl, ...overrides.delivery },
  });
  metrics.watch('deliveriesInFlight', () => worker.stats().inFlight);
  metrics.watch('failingDestinations', () => worker.stats().failingDestinations);
  const { retentionDays } = config;
  const partitions = createPartitionKeeper({ pool: db.pool, log, retentionDays, onKept: metrics.onPartitionsKept });
  const loops = [
    worker,
    createReplayRunner({ db, bus, log }),
    createDailySummaries({ db, events, log }),
    createHistoryClearing({ pool: db.pool, bus, log, onCleared: metrics.onHistoryCleared }),
    partitions,
  ];
  for (const loop of loops) {
    loop.start();
    onClose(() => loop.stop());
  }
  const sweepTimer = setInterval(() => {
    Promise.all(SWEEPS.map((sweep) => sweep(db.pool))).catch((error) =>
      log.warn({ err: error }, 'sweep failed; the next one will retry'),
    );
  }, SWEEP_MILLISECONDS).unref();
  onClose(() => clearInterval(sweepTimer));
}

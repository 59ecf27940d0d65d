import type { Logger } from 'pino';
import { findConnector } from './connectors/registry.ts';
import { type Database, openQueuePool } from './database/client.ts';
import { createPartitionKeeper } from './database/partitions.ts';
import { createReplayRunner } from './delivery/replay-runner.ts';
import { createDeliveryWorker, type DeliverySettings } from './delivery/worker.ts';
import type { Egress } from './egress/egress.ts';
import type { EventService } from './features/events/service.ts';
import type { PayloadVersions } from './features/events/versions.ts';
import { sweepIdempotencyKeys } from './features/idempotency-store.ts';
import { sweepPaymentAnswers } from './features/payments/answer-sweep.ts';
import { createDailySummaries } from './features/revenue/daily-summary.ts';
import { sweepRateLimits } from './limits/rate-limit.ts';
import type { Bus } from './live/bus.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { SecretBox } from './secrets/secret-box.ts';

const SWEEP_MILLISECONDS = 10 * 60_000;

export type WorkerRoleOptions = {
  db: Database;
  egress: Egress;
  secretBox: SecretBox;
  bus: Bus;
  events: EventService;
  log: Logger;
  metrics: Metrics;
  retentionDays: number;
  delivery: Partial<DeliverySettings> & Pick<DeliverySettings, 'version'>;
  payloadVersions?: PayloadVersions;
  /** Keeps what has to be ended, which is done in reverse order. */
  onClose: (close: () => unknown) => void;
};

/** Starts what a process with the role `worker` runs: deliveries, replays, daily summaries, retention and sweeps. */
export function startWorkerRole(options: WorkerRoleOptions): void {
  const { db, egress, secretBox, bus, events, log, metrics, retentionDays, payloadVersions, onClose } = options;
  const queuePool = openQueuePool({ url: db.url, log });
  onClose(() => queuePool.end());
  metrics.watchPool('queue', queuePool);
  const worker = createDeliveryWorker({
    ...{ db: { pool: queuePool }, egress, secretBox, bus, connectors: findConnector, log },
    ...(payloadVersions && { payloadVersions }),
    metrics: metrics.delivery,
    settings: options.delivery,
  });
  metrics.watch('deliveriesInFlight', () => worker.stats().inFlight);
  metrics.watch('failingDestinations', () => worker.stats().failingDestinations);
  const partitions = createPartitionKeeper({ pool: db.pool, log, retentionDays, onKept: metrics.onPartitionsKept });
  const loops = [worker, createReplayRunner({ db, bus, log }), createDailySummaries({ db, events, log }), partitions];
  for (const loop of loops) {
    loop.start();
    onClose(() => loop.stop());
  }
  const sweep = setInterval(() => {
    Promise.all([sweepRateLimits(db.pool), sweepIdempotencyKeys(db.pool), sweepPaymentAnswers(db.pool)]).catch(
      (error) => log.warn({ err: error }, 'sweep failed; the next one will do it'),
    );
  }, SWEEP_MILLISECONDS).unref();
  onClose(() => clearInterval(sweep));
}

import { Counter, Gauge, Registry } from '@prometheus-io/client';
import type pg from 'pg';
import type { Logger } from 'pino';
import { VERSION } from '../version.ts';
import { createDatabaseMetrics } from './database-metrics.ts';
import { createDeliveryMetrics } from './delivery-metrics.ts';
import { createPaymentMetrics } from './payment-metrics.ts';
import { createPoolMetrics } from './pool-metrics.ts';
import { measureProcess } from './process-metrics.ts';
import { createRequestMetrics } from './request-metrics.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** Gauges that read numbers from other modules on each scrape. */
const WATCHED = {
  clockOffset: {
    name: 'tollgate_clock_offset_seconds',
    help: 'How far this machine’s clock is ahead of the database’s clock, or behind it if negative. The service works by the database’s clock. If it is more than 5 s for one process, synchronize its machine with NTP; if it is for all of them, check the database server.',
  },
  lostLogLines: {
    name: 'tollgate_log_lost_lines',
    help: 'Log lines that this process could not write to standard output since its start. If this grows, the disk that holds the log is full, or nothing reads the log.',
  },
  onHold: {
    name: 'tollgate_on_hold',
    help: '1 while this process sends nothing, because the database is a restored copy or an operator asked for it; otherwise 0. Deliveries, payments, and notices wait until someone runs `tollgate adopt`; see the log and /readyz.',
  },
  liveStreams: {
    name: 'tollgate_live_streams',
    help: 'Open WebSockets and event streams in this process. Reported only by processes with the `api` role.',
  },
  liveSubscriptions: {
    name: 'tollgate_live_subscriptions',
    help: 'Live subscriptions in this process. Those with the same permissions share one reader per project, which reads the database when the project changes, and every 2 s. Reported only by processes with the `api` role.',
  },
  liveBacklog: {
    name: 'tollgate_live_backlog_bytes',
    help: 'Bytes that clients of WebSockets, event streams, exports, and large responses have not read yet, at most about 64 MiB. Reported only by processes with the `api` role.',
  },
  deliveriesInFlight: {
    name: 'tollgate_deliveries_in_flight',
    help: 'Deliveries in progress in this worker, at most 2048. Reported only by processes with the `worker` role. If it stays at the maximum while deliveries are late, start more workers.',
  },
  failingDestinations: {
    name: 'tollgate_delivery_failing_destinations',
    help: 'Destinations that this worker pauses for up to a minute at a time because 5 deliveries in a row failed. Reported only by processes with the `worker` role. If there are many at the same time, check your own network.',
  },
} as const;

/**
 * The Prometheus metrics for this process and the shared database. Callers can't choose the value of any label, so a
 * million tenants produce no more series than one tenant.
 */
export function createMetrics({ pool, log }: { pool: pg.Pool; log: Logger }) {
  const registry = new Registry();
  const registers = [registry];
  const ofProcess = measureProcess();
  const database = createDatabaseMetrics({ pool, log });
  const pools = createPoolMetrics(registry);
  pools.watchPool('main', pool);

  new Gauge({
    name: 'tollgate_build_info',
    help: 'Always 1. If processes keep reporting different versions, an upgrade is incomplete.',
    labelNames: ['version', 'node_version'],
    registers,
  }).set({ version: VERSION, node_version: process.versions.node }, 1);
  const partitionsKept = new Gauge({
    name: 'tollgate_retention_last_success_timestamp_seconds',
    help: 'When this worker last created and dropped partitions, which it does every hour; 0 if it has not done so yet. If that was more than 3 hours ago for every worker, search the log for "could not maintain partitions".',
    registers,
  });
  const historyCleared = new Counter({
    name: 'tollgate_deleted_history_rows_total',
    help: 'Rows deleted from the history of deleted projects, webhooks, and connectors. If tollgate_deletions is above 0 and this counter does not grow, search the log for "could not delete history".',
    registers,
  });
  const databaseUp = new Gauge({
    name: 'tollgate_database_up',
    help: 'Whether the database responded to this scrape within 3 s. If it is 0, the metrics that are read from the database are missing; see the log and /readyz. If it is 1 and some of them are missing, search the log for "could not collect a metric".',
    registers,
  });

  async function render(): Promise<Buffer> {
    const shared = await database.read();
    databaseUp.set(shared === undefined ? 0 : 1);
    return Buffer.from((await ofProcess.metrics()) + (await registry.metrics()) + (shared ?? ''));
  }
  let rendering: Promise<Buffer> | undefined;

  return {
    contentType: registry.contentType,
    ...createRequestMetrics(registry),
    ...createPaymentMetrics(registry),
    delivery: createDeliveryMetrics(registry),
    watchPool: pools.watchPool,
    onHistoryCleared: (rows: number) => historyCleared.inc(rows),
    onPartitionsKept: () => partitionsKept.setToCurrentTime(),
    /** Connects `count` to one of the gauges above. */
    watch(gauge: keyof typeof WATCHED, count: () => number): void {
      new Gauge({
        ...WATCHED[gauge],
        registers,
        collect() {
          this.set(count());
        },
      });
    },
    /**
     * All metrics in the text format, or only this process's own metrics while the database is unavailable. Scrapes at the
     * same time share the result, because writing it takes tens of milliseconds, and no credential is needed.
     */
    read(): Promise<Buffer> {
      rendering ??= render().finally(() => {
        rendering = undefined;
      });
      return rendering;
    },
    /** Releases everything that the metrics hold references to. */
    close: () => registry.clear(),
  };
}

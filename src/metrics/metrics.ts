import { collectDefaultMetrics, Gauge, Registry } from '@prometheus-io/client';
import type pg from 'pg';
import { VERSION } from '../version.ts';
import { createDatabaseMetrics } from './database-metrics.ts';
import { createDeliveryMetrics } from './delivery-metrics.ts';
import { createPaymentMetrics } from './payment-metrics.ts';
import { createPoolMetrics } from './pool-metrics.ts';
import { createRequestMetrics } from './request-metrics.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** Gauges of what other modules count anyway: they are asked at each scrape. */
const WATCHED = {
  liveStreams: {
    name: 'tollgate_live_streams',
    help: 'Open WebSockets and event streams of this process; only one with the role api has it.',
  },
  liveSubscriptions: {
    name: 'tollgate_live_subscriptions',
    help: 'Live subscriptions of this process; each reads the database when its project changes, and every 2 s. Only a process with the role api has it.',
  },
  liveBacklog: {
    name: 'tollgate_live_backlog_bytes',
    help: 'What waits in this process for the clients of WebSockets and event streams to read, at most about 64 MiB; only one with the role api has it.',
  },
  deliveriesInFlight: {
    name: 'tollgate_deliveries_in_flight',
    help: 'Deliveries this worker has in its hands, at most 2048; only a process with the role worker has it. Always full while deliveries are late: start more workers.',
  },
  failingDestinations: {
    name: 'tollgate_delivery_failing_destinations',
    help: 'Receivers that this worker leaves alone for up to a minute at a time, because 5 deliveries in a row have failed; only a process with the role worker has it. Many at once: look at your own network.',
  },
} as const;

/**
 * The numbers of this process and of the database it shares, for Prometheus. No label has a value that callers choose, so
 * there are as many series for a million tenants as for one.
 */
export function createMetrics({ pool }: { pool: pg.Pool }) {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const database = createDatabaseMetrics(pool);
  const pools = createPoolMetrics(registry);
  pools.watchPool('main', pool);

  new Gauge({
    name: 'tollgate_build_info',
    help: 'Always 1. Several versions for long: an upgrade was not finished.',
    labelNames: ['version', 'node_version'],
    registers,
  }).set({ version: VERSION, node_version: process.versions.node }, 1);
  const partitionsKept = new Gauge({
    name: 'tollgate_retention_last_success_timestamp_seconds',
    help: 'When this worker last made new partitions and dropped what RETENTION_DAYS says, which it does every hour; 0 before. More than 3 hours ago on all: search the log for "partitions not kept".',
    registers,
  });
  const databaseUp = new Gauge({
    name: 'tollgate_database_up',
    help: 'Whether the database answered this scrape within 3 s. 0: the metrics that are read from it are missing; see the log and /readyz.',
    registers,
  });

  return {
    contentType: registry.contentType,
    ...createRequestMetrics(registry),
    ...createPaymentMetrics(registry),
    delivery: createDeliveryMetrics(registry),
    watchPool: pools.watchPool,
    onPartitionsKept: () => partitionsKept.setToCurrentTime(),
    /** Shows what `count` returns as one of the gauges above. */
    watch(gauge: keyof typeof WATCHED, count: () => number): void {
      new Gauge({
        ...WATCHED[gauge],
        registers,
        collect() {
          this.set(count());
        },
      });
    },
    /** All of it in the text format. While the database is away, what the process knows by itself. */
    async read(): Promise<string> {
      const shared = await database.read();
      databaseUp.set(shared === undefined ? 0 : 1);
      return (await registry.metrics()) + (shared ?? '');
    },
  };
}

import { Gauge, Registry } from '@prometheus-io/client';
import type pg from 'pg';
import type { Logger } from 'pino';
import { readPartitionsAhead } from '../database/partitions.ts';
import { readDestinationCounts } from '../delivery/outcome/destination-counts.ts';
import { QUEUE_COUNT_LIMIT, readQueueStats } from '../delivery/queue/queue.ts';
import { countDeletions } from '../features/deletions/clear-history.ts';
import { countOpenNotices } from '../features/notices/sweep.ts';
import { NOTICE_TYPES } from '../features/notices/types.ts';
import { OPEN_STATUSES, readOpenPayments } from '../features/payments/open-payments.ts';
import { createSnapshots, within } from './snapshots.ts';

/** By default, a scrape times out after 10 s. This leaves time for the process's own metrics. */
const READ_MILLISECONDS = 3_000;

/** Metrics that come from one source. If the source fails, all of them are missing. */
type Group = { count: () => Promise<unknown>; render: (value: unknown) => Promise<string> };

/** Creates a group. `count` returns its numbers. `define` creates its gauges, and returns a function that sets them. */
function group<T>(count: () => Promise<T>, define: (registers: Registry[]) => (value: T) => void): Group {
  const registry = new Registry();
  const set = define([registry]);
  return {
    count,
    async render(value) {
      set(value as T);
      return registry.metrics();
    },
  };
}

const groupsOf = (pool: pg.Pool) => ({
  queue: group(
    () => readQueueStats(pool),
    (registers) => {
      const deliveries = new Gauge({
        name: 'tollgate_deliveries',
        help: `Unfinished deliveries by status, counted up to ${QUEUE_COUNT_LIMIT}. Every process reports the same value. If PENDING keeps growing, start more workers.`,
        labelNames: ['status'],
        registers,
      });
      const oldestDue = new Gauge({
        name: 'tollgate_delivery_oldest_due_seconds',
        help: 'Age of the oldest delivery that is due but not claimed, excluding deliveries that are waiting for capacity at their destination. Every process reports the same value. If it stays above a minute, workers are down or there are too few of them.',
        registers,
      });
      return ({ pending, running, oldestDueSeconds }) => {
        deliveries.set({ status: 'PENDING' }, pending);
        deliveries.set({ status: 'RUNNING' }, running);
        oldestDue.set(oldestDueSeconds);
      };
    },
  ),
  payments: group(
    () => readOpenPayments(pool),
    (registers) => {
      const open = new Gauge({
        name: 'tollgate_payments_open',
        help: 'Payments that are not final, by status. Every process reports the same value. If UNKNOWN persists, check that gateways can reach RPC_URL.',
        labelNames: ['status'],
        registers,
      });
      const oldestUnknown = new Gauge({
        name: 'tollgate_payment_oldest_unknown_seconds',
        help: 'Age of the oldest payment whose settlement is unknown, counted from the upstream’s response. 0 if every settlement is known. Every process reports the same value. If it exceeds 10 minutes, check that gateways can reach RPC_URL.',
        registers,
      });
      return ({ counts, oldestUnknownSeconds }) => {
        for (const status of OPEN_STATUSES) open.set({ status }, counts[status]);
        oldestUnknown.set(oldestUnknownSeconds);
      };
    },
  ),
  destinations: group(
    () => readDestinationCounts(pool),
    (registers) => {
      const subscribers = new Gauge({
        name: 'tollgate_subscribers',
        help: 'Webhooks and connectors with problems. Every process reports the same value. failing: the last delivery failed; paused: a destination holds its deliveries because of a problem, such as rejected credentials or, for connectors, five rejections in a row for the same reason; disabled: turned off by the service. Those that their owners paused or disabled are not counted. If many have problems at the same time, check your own network.',
        labelNames: ['kind', 'state'],
        registers,
      });
      return (counts) => {
        for (const { kind, state, count } of counts) subscribers.set({ kind, state }, count);
      };
    },
  ),
  notices: group(
    () => countOpenNotices(pool),
    (registers) => {
      const notices = new Gauge({
        name: 'tollgate_notices_open',
        help: 'Open notices by type. Every process reports the same value. If facilitator.unreachable, payment.uncertain, or deliveries.expiring is above 0, look into it: owners were notified.',
        labelNames: ['type'],
        registers,
      });
      return (counts) => {
        for (const type of NOTICE_TYPES) notices.set({ type }, 0);
        for (const { type, count } of counts) notices.set({ type }, count);
      };
    },
  ),
  partitions: group(
    () => readPartitionsAhead(pool),
    (registers) => {
      const ahead = new Gauge({
        name: 'tollgate_partitions_ahead_seconds',
        help: 'How far in advance partitions have been created for events and deliveries, usually three weeks. Every process reports the same value. If it drops below two weeks, no worker is creating new ones.',
        registers,
      });
      return (seconds) => ahead.set(seconds);
    },
  ),
  deletions: group(
    () => countDeletions(pool),
    (registers) => {
      const deletions = new Gauge({
        name: 'tollgate_deletions',
        help: 'Deleted projects, webhooks, and connectors whose history is still being deleted. Every process reports the same value. If it stays above 0, make sure a worker is running. Deleting a million deliveries takes several minutes.',
        registers,
      });
      return (count) => deletions.set(count);
    },
  ),
});

/**
 * Metrics about the whole service, with the same values in every process. Only one process at a time counts them, so
 * the load on the database doesn't grow with the number of processes or scrapes.
 */
export function createDatabaseMetrics({ pool, log }: { pool: pg.Pool; log: Logger }) {
  const groups: Record<string, Group> = groupsOf(pool);
  const counts = Object.fromEntries(Object.entries(groups).map(([name, { count }]) => [name, count]));
  const snapshots = createSnapshots({ pool, log, counts });
  let running: Promise<string> | undefined;

  async function render(): Promise<string> {
    const values = await snapshots.read();
    // Another version of the service may have stored values in a different form.
    const texts = [...values].map(([name, value]) => groups[name]!.render(value).catch(() => ''));
    return (await Promise.all(texts)).join('');
  }

  return {
    /**
     * The metrics in the text format, without those that couldn't be counted. Undefined if the database doesn't respond
     * in time.
     */
    async read(): Promise<string | undefined> {
      // If an earlier query is still running, the database may be struggling, so it doesn't get another one.
      running ??= render().finally(() => {
        running = undefined;
      });
      return within(
        READ_MILLISECONDS,
        running.catch(() => undefined),
      );
    },
  };
}

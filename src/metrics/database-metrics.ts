import { Gauge, Registry } from '@prometheus-io/client';
import type pg from 'pg';
import { readPartitionsAhead } from '../database/partitions.ts';
import { readDestinationCounts } from '../delivery/outcome/destination-counts.ts';
import { QUEUE_COUNT_LIMIT, readQueueStats } from '../delivery/queue/queue.ts';
import { countDeletions } from '../features/deletions/clear-history.ts';
import { OPEN_STATUSES, readOpenPayments } from '../features/payments/open-payments.ts';

/** By default, a scrape times out after 10 s, and it must include the process's own metrics. */
const READ_MILLISECONDS = 3_000;

/**
 * Metrics read from the database, with the same values in every process. They are read on each scrape, but not while an
 * earlier query is still running, so a struggling database doesn't get more and more queries.
 */
export function createDatabaseMetrics(pool: pg.Pool) {
  const registry = new Registry();
  const registers = [registry];
  const queue = new Gauge({
    name: 'tollgate_deliveries',
    help: `Unfinished deliveries by status, counted up to ${QUEUE_COUNT_LIMIT}. Every process reports the same value. If PENDING keeps growing, start more workers.`,
    labelNames: ['status'],
    registers,
  });
  const oldestDue = new Gauge({
    name: 'tollgate_delivery_oldest_due_seconds',
    help: 'Age of the oldest delivery that is due but not claimed, not counting deliveries that wait for room at their destination. Every process reports the same value. If it stays above a minute, workers are down or there are too few of them.',
    registers,
  });
  const payments = new Gauge({
    name: 'tollgate_payments_open',
    help: 'Payments that are not final, by status. Every process reports the same value. If UNKNOWN persists, check that gateways can reach RPC_URL.',
    labelNames: ['status'],
    registers,
  });
  const oldestUnknown = new Gauge({
    name: 'tollgate_payment_oldest_unknown_seconds',
    help: 'Time since the upstream responded to the oldest payment with an unknown settlement, or 0. Every process reports the same value. If it exceeds 10 minutes, check that gateways can reach RPC_URL.',
    registers,
  });
  const subscribers = new Gauge({
    name: 'tollgate_subscribers',
    help: 'Webhooks and connectors with problems. Every process reports the same value. failing: the last delivery failed; paused: a connector holds its deliveries because of a problem, such as rejected credentials or five rejections in a row for the same reason; disabled: turned off by the service. Those that their owners paused or disabled are not counted. If many have problems at the same time, check your own network.',
    labelNames: ['kind', 'state'],
    registers,
  });
  const partitionsAhead = new Gauge({
    name: 'tollgate_partitions_ahead_seconds',
    help: 'How far ahead partitions for events and deliveries exist, usually three weeks. Every process reports the same value. If it drops below two weeks, no worker is creating new ones.',
    registers,
  });
  const deletions = new Gauge({
    name: 'tollgate_deletions',
    help: 'Deleted projects, webhooks, and connectors whose history is still being deleted. Every process reports the same value. If it stays above 0, start a worker, or wait: a million deliveries take several minutes.',
    registers,
  });
  let running: Promise<string> | undefined;

  async function query(): Promise<string> {
    const [deliveries, open, troubled, ahead, unfinished] = await Promise.all([
      readQueueStats(pool),
      readOpenPayments(pool),
      readDestinationCounts(pool),
      readPartitionsAhead(pool),
      countDeletions(pool),
    ]);
    queue.set({ status: 'PENDING' }, deliveries.pending);
    queue.set({ status: 'RUNNING' }, deliveries.running);
    oldestDue.set(deliveries.oldestDueSeconds);
    for (const status of OPEN_STATUSES) payments.set({ status }, open.counts[status]);
    oldestUnknown.set(open.oldestUnknownSeconds);
    for (const { kind, state, count } of troubled) subscribers.set({ kind, state }, count);
    partitionsAhead.set(ahead);
    deletions.set(unfinished);
    return registry.metrics();
  }

  return {
    registry,
    /** In the text format, or undefined if the database doesn't respond in time. */
    async read(): Promise<string | undefined> {
      running ??= query().finally(() => {
        running = undefined;
      });
      const { promise: late, resolve } = Promise.withResolvers<undefined>();
      const timer = setTimeout(resolve, READ_MILLISECONDS);
      const answer = running.catch(() => undefined);
      return Promise.race([answer, late]).finally(() => clearTimeout(timer));
    },
  };
}

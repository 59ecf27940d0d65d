import { Gauge, Registry } from '@prometheus-io/client';
import type pg from 'pg';
import { readPartitionsAhead } from '../database/partitions.ts';
import { readDestinationCounts } from '../delivery/outcome/destination-counts.ts';
import { QUEUE_COUNT_LIMIT, readQueueStats } from '../delivery/queue/queue.ts';
import { OPEN_STATUSES, readOpenPayments } from '../features/payments/open-payments.ts';

/** A scrape has 10 s by default, and the numbers of the process itself must be in it. */
const READ_MILLISECONDS = 3_000;

/**
 * The numbers that the database knows, the same on every process. They are read when asked for; while an answer is
 * missing nobody asks again, so that a database in trouble is not asked ever more.
 */
export function createDatabaseMetrics(pool: pg.Pool) {
  const registry = new Registry();
  const registers = [registry];
  const queue = new Gauge({
    name: 'tollgate_deliveries',
    help: `Deliveries that are not finished, by status, counted up to ${QUEUE_COUNT_LIMIT}; the same on every process. PENDING that only grows: start more workers.`,
    labelNames: ['status'],
    registers,
  });
  const oldestDue = new Gauge({
    name: 'tollgate_delivery_oldest_due_seconds',
    help: 'Age of the oldest delivery that is due and not taken; the same on every process. More than a minute: workers are down, or too few.',
    registers,
  });
  const payments = new Gauge({
    name: 'tollgate_payments_open',
    help: 'Payments that are not final, by status; the same on every process. UNKNOWN that stays: see that gateways reach RPC_URL.',
    labelNames: ['status'],
    registers,
  });
  const oldestUnknown = new Gauge({
    name: 'tollgate_payment_oldest_unknown_seconds',
    help: 'Time since the oldest payment whose settlement is not known was answered by the upstream, 0 without one; the same on every process. More than 10 minutes: see that gateways reach RPC_URL.',
    registers,
  });
  const subscribers = new Gauge({
    name: 'tollgate_subscribers',
    help: 'Webhooks and connectors in trouble; the same on every process. failing: the last delivery did not succeed; paused: a connector waits for a new credential; disabled: the service has switched it off. Many at once: look at your own network.',
    labelNames: ['kind', 'state'],
    registers,
  });
  const partitionsAhead = new Gauge({
    name: 'tollgate_partitions_ahead_seconds',
    help: 'For how long events and deliveries have partitions of their own, usually three weeks; the same on every process. Less than two: no worker makes new ones.',
    registers,
  });
  let running: Promise<string> | undefined;

  async function query(): Promise<string> {
    const [deliveries, open, troubled, ahead] = await Promise.all([
      readQueueStats(pool),
      readOpenPayments(pool),
      readDestinationCounts(pool),
      readPartitionsAhead(pool),
    ]);
    queue.set({ status: 'PENDING' }, deliveries.pending);
    queue.set({ status: 'RUNNING' }, deliveries.running);
    oldestDue.set(deliveries.oldestDueSeconds);
    for (const status of OPEN_STATUSES) payments.set({ status }, open.counts[status]);
    oldestUnknown.set(open.oldestUnknownSeconds);
    for (const { kind, state, count } of troubled) subscribers.set({ kind, state }, count);
    partitionsAhead.set(ahead);
    return registry.metrics();
  }

  return {
    registry,
    /** In the text format; undefined when the database gives no answer in time. */
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

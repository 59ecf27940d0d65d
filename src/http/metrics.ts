import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Database } from '../database/client.ts';
import { readQueueStats } from '../delivery/queue.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** The numbers of this process and of the queue it shares, for Prometheus. */
export function createMetrics(options: { db: Database; openStreams(): number }) {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const requests = new Histogram({
    name: 'tollgate_http_request_duration_seconds',
    help: 'Requests answered, by route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.02, 0.05, 0.1, 0.3, 1, 3, 10],
    registers,
  });
  const attempts = new Counter({
    name: 'tollgate_delivery_attempts_total',
    help: 'Attempts made by this process, by kind of subscriber and outcome.',
    labelNames: ['kind', 'outcome'],
    registers,
  });
  const queue = new Gauge({
    name: 'tollgate_deliveries',
    help: 'Deliveries that are not finished, by status, counted up to 100000.',
    labelNames: ['status'],
    registers,
  });
  const oldestDue = new Gauge({
    name: 'tollgate_delivery_oldest_due_seconds',
    help: 'Age of the oldest delivery that is due and not taken.',
    registers,
  });
  new Gauge({
    name: 'tollgate_live_streams',
    help: 'Open WebSockets and event streams.',
    registers,
    collect() {
      this.set(options.openStreams());
    },
  });

  return {
    contentType: registry.contentType,
    observeRequest(labels: { method: string; route: string; status: number }, seconds: number): void {
      requests.observe(labels, seconds);
    },
    /** Counts an attempt of the delivery worker. */
    countAttempt(kind: string, outcome: string): void {
      attempts.inc({ kind, outcome });
    },
    async read(): Promise<string> {
      const stats = await readQueueStats(options.db.pool);
      queue.set({ status: 'PENDING' }, stats.pending);
      queue.set({ status: 'RUNNING' }, stats.running);
      oldestDue.set(stats.oldestDueSeconds);
      return registry.metrics();
    },
  };
}

import { Counter, Histogram, type Registry } from '@prometheus-io/client';
import type { OperationFacts } from '../graphql/watch-operations.ts';
import type { DropReason } from '../limits/backlog.ts';
import { BUCKETS_SECONDS } from './buckets.ts';

/** What callers ask of this process. */
export function createRequestMetrics(registry: Registry) {
  const registers = [registry];
  const requests = new Histogram({
    name: 'tollgate_http_request_duration_seconds',
    help: 'Requests answered, by route and status. Many 5xx: search the log for their requestId.',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const operations = new Histogram({
    name: 'tollgate_graphql_operation_duration_seconds',
    help: 'GraphQL operations run, those of the REST routes too, by type and outcome (ok, error). For a subscription: how long it took to begin.',
    labelNames: ['type', 'outcome'],
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const errors = new Counter({
    name: 'tollgate_graphql_errors_total',
    help: 'Errors of GraphQL operations, those of the REST routes too, by code. INTERNAL is a fault of the service: search the log for it.',
    labelNames: ['code'],
    registers,
  });
  errors.inc({ code: 'INTERNAL' }, 0);
  const rateLimited = new Counter({
    name: 'tollgate_rate_limited_requests_total',
    help: 'Requests refused for their number. rate: over what the tier allows; credentials: from an address with too many bad ones, perhaps a proxy that is missing in TRUSTED_PROXIES.',
    labelNames: ['reason'],
    registers,
  });
  const dropped = new Counter({
    name: 'tollgate_live_streams_dropped_total',
    help: 'WebSockets and event streams ended because their client did not read. stream, account, process: too much was waiting for the stream, its account, or all; stalled: nothing was read for long. Many process: start more processes.',
    labelNames: ['reason'],
    registers,
  });

  return {
    onStreamDropped: (reason: DropReason) => dropped.inc({ reason }),
    onAnswer(labels: { method: string; route: string; status: number }, seconds: number): void {
      requests.observe(labels, seconds);
    },
    onOperation({ type, errorCodes, seconds }: OperationFacts): void {
      operations.observe({ type, outcome: errorCodes.length === 0 ? 'ok' : 'error' }, seconds);
      for (const code of errorCodes) errors.inc({ code });
    },
    onRateLimited: (reason: 'rate' | 'credentials') => rateLimited.inc({ reason }),
  };
}

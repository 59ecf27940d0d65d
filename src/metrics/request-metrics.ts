import { Counter, Histogram, type Registry } from '@prometheus-io/client';
import { ERRORS } from '../errors.ts';
import { METHODS } from '../features/endpoints/methods.ts';
import type { OperationFacts } from '../graphql/watch-operations.ts';
import type { DropReason } from '../limits/backlog.ts';
import { BUCKETS_SECONDS } from './buckets.ts';

/** Node knows 28 more, and anyone can send them. They are counted together, under the name that OpenTelemetry uses. */
const USUAL_METHODS: ReadonlySet<string> = new Set([...METHODS, 'OPTIONS']);
const OTHER_METHOD = '_OTHER';

/**
 * The statuses that this service sends itself, and the others that most APIs use. A seller's API can respond with four
 * hundred, which are counted by class, so that sellers can't multiply the series.
 */
const USUAL_STATUSES: ReadonlySet<number> = new Set([
  ...[101, 200, 201, 202, 204, 206, 302, 304, 402],
  ...Object.values(ERRORS).map(({ status }) => status),
]);

/** Metrics for requests to this process. */
export function createRequestMetrics(registry: Registry) {
  const registers = [registry];
  const requests = new Histogram({
    name: 'tollgate_http_request_duration_seconds',
    help: 'Duration of HTTP requests, by method, route, and status. If there are many 5xx responses, search the log for their requestId.',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const operations = new Histogram({
    name: 'tollgate_graphql_operation_duration_seconds',
    help: 'Duration of GraphQL operations by type and outcome (ok or error), including the ones that REST routes run. For subscriptions, only the time until they start is measured.',
    labelNames: ['type', 'outcome'],
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const errors = new Counter({
    name: 'tollgate_graphql_errors_total',
    help: 'Errors by code, from all GraphQL operations, including the ones that REST routes run. INTERNAL means that something failed in the service: search the log for the error.',
    labelNames: ['code'],
    registers,
  });
  errors.inc({ code: 'INTERNAL' }, 0);
  const rateLimited = new Counter({
    name: 'tollgate_rate_limited_requests_total',
    help: 'Rate-limited requests. rate: above the tier’s limit; credentials: too many invalid credentials from one address, which may be a proxy that is missing from TRUSTED_PROXIES.',
    labelNames: ['reason'],
    registers,
  });
  const dropped = new Counter({
    name: 'tollgate_live_streams_dropped_total',
    help: 'WebSockets, event streams, and exports dropped because the client did not read. stream, account, process: too much data was waiting for the stream, its account, or the process; stalled: nothing was read for too long. If many streams are dropped for the reason "process", start more processes.',
    labelNames: ['reason'],
    registers,
  });

  return {
    onStreamDropped: (reason: DropReason) => dropped.inc({ reason }),
    onResponse(labels: { method: string; route: string; status: number }, seconds: number): void {
      const method = USUAL_METHODS.has(labels.method) ? labels.method : OTHER_METHOD;
      const status = USUAL_STATUSES.has(labels.status) ? labels.status : `${Math.floor(labels.status / 100)}xx`;
      requests.observe({ ...labels, method, status }, seconds);
    },
    onOperation({ type, errorCodes, seconds }: OperationFacts): void {
      operations.observe({ type, outcome: errorCodes.length === 0 ? 'ok' : 'error' }, seconds);
      for (const code of errorCodes) errors.inc({ code });
    },
    onRateLimited: (reason: 'rate' | 'credentials') => rateLimited.inc({ reason }),
  };
}

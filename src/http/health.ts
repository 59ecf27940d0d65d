import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Database } from '../database/client.ts';
import { createReadiness } from '../database/readiness.ts';
import { notFound } from '../errors.ts';

/** Readiness is checked at most once a second, so an earlier probe gets the same result. */
const RETRY_AFTER_SECONDS = 1;

/** Serves liveness, readiness, and metrics for orchestrators and monitoring. Metrics aren't served through proxies. */
export function registerHealth(
  app: FastifyInstance,
  options: {
    db: Database;
    metrics: { contentType: string; read(): Promise<Buffer> };
    isDraining(): boolean;
    /** Why the service sends nothing, or undefined if it does. It still serves everything else. */
    explainHold(): string | undefined;
  },
) {
  const { db, metrics } = options;
  const requireWritable = createReadiness(db.pool);
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async (request, reply) => {
    if (options.isDraining()) return reply.code(503).send({ status: 'draining' });
    try {
      await requireWritable();
      const detail = options.explainHold();
      return detail === undefined ? { status: 'ready' } : { status: 'on hold', detail };
    } catch (error) {
      request.log.warn({ err: error }, 'not ready: cannot write to the database');
      return reply.code(503).header('retry-after', RETRY_AFTER_SECONDS).send({ status: 'database unavailable' });
    }
  });
  app.get('/metrics', async (request, reply) => {
    if (isFromProxy(request)) throw notFound();
    return reply.type(metrics.contentType).send(await metrics.read());
  });
}

/** Not `X-Forwarded-Proto`, which service meshes add to a scraper's own requests. */
const FROM_PROXIES = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'] as const;

/** Clients can add these headers, but they can't remove those that a proxy adds. */
function isFromProxy({ headers }: FastifyRequest): boolean {
  return FROM_PROXIES.some((name) => headers[name] !== undefined);
}

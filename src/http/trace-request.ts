import { context, SpanStatusCode } from '@opentelemetry/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isTracing, openSpan } from '../tracing/tracer.ts';

/**
 * Opens a span that lasts until the response ends, and handles the request within that span. The span continues the
 * caller's trace if there is one. Names and attributes: https://opentelemetry.io/docs/specs/semconv/http/http-spans/
 */
export function traceRequest(request: FastifyRequest, reply: FastifyReply, proceed: () => void): void {
  if (!isTracing()) {
    proceed();
    return;
  }
  const { method } = request;
  const route = request.routeOptions.url ?? '';
  const { traceparent } = request.headers;
  const { span, within } = openSpan(`${method} ${route}`, {
    kind: 'server',
    parent: typeof traceparent === 'string' ? traceparent : null,
    attributes: { 'http.request.method': method, 'http.route': route, 'tollgate.request.id': request.id },
  });
  reply.raw.once('close', () => {
    const { statusCode } = reply.raw;
    span.setAttribute('http.response.status_code', statusCode);
    if (statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  });
  context.with(within, proceed);
}

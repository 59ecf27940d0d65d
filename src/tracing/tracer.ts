import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { VERSION } from '../version.ts';

export type SpanOptions = {
  kind?: 'server' | 'client';
  attributes?: Attributes;
  /** The `traceparent` to continue instead of the current span. An invalid one starts a new trace. */
  parent?: string | null | undefined;
  /** The `traceparent`s of related traces. */
  links?: readonly (string | null)[];
};

// https://www.w3.org/TR/trace-context/#traceparent-header
const TRACEPARENT = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/;
const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT } as const;

let isOn = false;

/** Sets whether spans are recorded. If not, the functions below only run their callbacks. */
export function setTracing(on: boolean): void {
  isOn = on;
}

export function isTracing(): boolean {
  return isOn;
}

/** Opens a span around `run`. An exception marks it as failed. `describe` is called only while tracing is on. */
export async function inSpan<T>(name: string, describe: () => SpanOptions, run: () => Promise<T>): Promise<T> {
  if (!isOn) return run();
  const { span, within } = openSpan(name, describe());
  try {
    return await context.with(within, run);
  } catch (error) {
    // Records only the class, because messages may contain data that doesn't belong in telemetry.
    span.setAttribute('error.type', error instanceof Error ? error.name : typeof error);
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}

/** Opens a span that the caller ends. */
export function openSpan(name: string, options: SpanOptions): { span: Span; within: Context } {
  const { kind, attributes, parent, links } = options;
  const start = parent === undefined ? context.active() : contextOf(parent);
  const span = trace.getTracer('tollgate', VERSION).startSpan(
    name,
    {
      kind: kind ? KINDS[kind] : SpanKind.INTERNAL,
      ...(attributes && { attributes }),
      ...(links && {
        links: links.flatMap((link) => spanContextOf(link) ?? []).map((linked) => ({ context: linked })),
      }),
    },
    start,
  );
  return { span, within: trace.setSpan(start, span) };
}

/** Adds attributes to the current span. */
export function describeSpan(attributes: Attributes): void {
  if (isOn) trace.getActiveSpan()?.setAttributes(attributes);
}

/** The current span's `traceparent`, to pass on. */
export function currentTraceparent(): string | undefined {
  if (!isOn) return undefined;
  const spanContext = trace.getActiveSpan()?.spanContext();
  if (!spanContext || !isSpanContextValid(spanContext)) return undefined;
  const { traceId, spanId, traceFlags } = spanContext;
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

/** The current span's `traceparent` as a header. Empty outside spans. */
export function traceHeaders(): { traceparent?: string } {
  const traceparent = currentTraceparent();
  return traceparent === undefined ? {} : { traceparent };
}

function contextOf(traceparent: string | null): Context {
  const spanContext = spanContextOf(traceparent);
  return spanContext ? trace.setSpanContext(ROOT_CONTEXT, spanContext) : ROOT_CONTEXT;
}

function spanContextOf(traceparent: string | null) {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (!traceId || !spanId || !flags) return undefined;
  const spanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
  return isSpanContextValid(spanContext) ? spanContext : undefined;
}

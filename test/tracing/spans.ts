import { expect } from 'vitest';
import type { Receiver } from '../support/receiver.ts';

export type Span = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  attributes: { key: string; value: { stringValue?: string; intValue?: string | number } }[];
};

/** A caller's span. The service continues its trace. */
export const CALLER = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
export const CALLER_TRACEPARENT = `00-${CALLER.traceId}-${CALLER.spanId}-01`;

/** Returns the spans of the caller's trace that a collector received. */
export function spansOfCaller(collector: Receiver): Span[] {
  expect(collector.requests.every(({ path }) => path === '/v1/traces')).toBe(true);
  return collector.requests
    .flatMap(({ body }) => JSON.parse(body.toString()).resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap((scope) => scope.spans as Span[])
    .filter((span) => span.traceId === CALLER.traceId);
}

/** Returns the names of the spans from the given one up to the caller's. Fails if the chain is broken. */
export function wayToCaller(spans: Span[], spanId: string | undefined): string[] {
  const names: string[] = [];
  for (let id = spanId; id !== CALLER.spanId; ) {
    const span = spans.find((candidate) => candidate.spanId === id);
    expect(span, `span ${id} beneath ${names.join(' < ')}`).toBeDefined();
    names.push(span!.name);
    id = span!.parentSpanId;
  }
  return names;
}

/** Returns the value of an attribute. */
export function attributeOf({ attributes }: Span, name: string): string | undefined {
  const value = attributes.find(({ key }) => key === name)?.value;
  return value?.stringValue ?? (value?.intValue === undefined ? undefined : String(value.intValue));
}

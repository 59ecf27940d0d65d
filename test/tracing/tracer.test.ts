import { expect, test, vi } from 'vitest';
import { currentTraceparent, describeSpan, inSpan, isTracing } from '../../src/tracing/tracer.ts';

test('while tracing is off, a span is neither described nor opened, and only its callback runs', async () => {
  const describe = vi.fn(() => ({}));
  const seen = await inSpan('a request', describe, async () => [isTracing(), currentTraceparent()]);
  describeSpan({ 'http.route': '/' });
  expect(seen).toEqual([false, undefined]);
  expect(describe).not.toHaveBeenCalled();
});

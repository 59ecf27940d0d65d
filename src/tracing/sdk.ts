import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { VERSION } from '../version.ts';

/** The specification's samplers, by their `OTEL_TRACES_SAMPLER` names. */
const SAMPLERS: Readonly<Record<string, (ratio: number) => Sampler>> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
  parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
  parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
  parentbased_traceidratio: (ratio) => new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
};
const DEFAULT_SAMPLER = 'parentbased_always_on';

/** Registers the SDK with the API. The exporter reads its URL, headers, and timeouts from the environment. */
export function startSdk(env: NodeJS.ProcessEnv): () => Promise<void> {
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.version': VERSION,
      ...resourceAttributes(env.OTEL_RESOURCE_ATTRIBUTES ?? ''),
      ...(env.OTEL_SERVICE_NAME ? { 'service.name': env.OTEL_SERVICE_NAME } : {}),
    }),
    sampler: samplerOf(env),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(provider);
  return async () => {
    await provider.shutdown();
    trace.disable();
    context.disable();
  };
}

function samplerOf({
  OTEL_TRACES_SAMPLER: name = DEFAULT_SAMPLER,
  OTEL_TRACES_SAMPLER_ARG: argument,
}: NodeJS.ProcessEnv) {
  const ratio = argument === undefined || Number.isNaN(Number(argument)) ? 1 : Number(argument);
  return (SAMPLERS[name] ?? SAMPLERS[DEFAULT_SAMPLER]!)(ratio);
}

/** `key=value,…` with percent-encoded values. */
function resourceAttributes(text: string): Record<string, string> {
  const pairs = text.split(',').map((pair) => pair.split('='));
  return {
    'service.name': 'tollgate',
    ...Object.fromEntries(
      pairs.flatMap(([key, value]) => (key && value ? [[key.trim(), decodeURIComponent(value.trim())]] : [])),
    ),
  };
}

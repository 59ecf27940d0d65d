import { setTracing } from './tracer.ts';

export type Tracing = {
  /** Exports the remaining spans. */
  stop(): Promise<void>;
};

/**
 * Starts recording traces if the standard OpenTelemetry variables configure a collector. Otherwise, the SDK isn't even
 * loaded.
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */
export async function startTracing(env: NodeJS.ProcessEnv): Promise<Tracing | undefined> {
  const isNamed = env.OTEL_EXPORTER_OTLP_ENDPOINT || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  if (!isNamed || env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER === 'none') return;
  const { startSdk } = await import('./sdk.ts');
  const stop = startSdk(env);
  setTracing(true);
  return {
    async stop() {
      setTracing(false);
      await stop();
    },
  };
}

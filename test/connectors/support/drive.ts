import type { BuildContext, ConnectorDefinition, ConnectorEvent, Outcome } from '../../../src/connectors/definition.ts';
import type { ConnectorRequest, ConnectorResponse } from '../../../src/connectors/exchange.ts';
import { sampleContext } from './samples.ts';

export type Drive = {
  outcome: Outcome | { kind: 'skipped'; reason: string };
  requests: ConnectorRequest[];
  /** The steps taken, in order. Requests without a step count as `send`. */
  steps: string[];
  memory: Record<string, string>;
};

/** Delivers events the way the engine does: builds, responds, classifies, follows `next`, and merges `remember`. */
export function drive<Config>(
  definition: ConnectorDefinition<Config>,
  config: Config,
  events: readonly [ConnectorEvent, ...ConnectorEvent[]],
  vendor: (request: ConnectorRequest, index: number) => ConnectorResponse,
  overrides: Partial<BuildContext> = {},
): Drive {
  const context = sampleContext(overrides);
  let memory: Record<string, string> = { ...context.memory };
  const requests: ConnectorRequest[] = [];
  const steps: string[] = [];
  const built = definition.build(events, config, context);
  if ('skip' in built) return { outcome: { kind: 'skipped', reason: built.skip }, requests, steps, memory };
  let request: ConnectorRequest = built;
  for (;;) {
    if (requests.length >= 8) throw new Error(`The delivery does not end: ${steps.join(', ')}`);
    const step = request.step ?? 'send';
    const response = vendor(request, requests.length);
    requests.push(request);
    steps.push(step);
    const outcome = definition.classify(response, { ...context, memory, config, events, step });
    if ('remember' in outcome) memory = { ...memory, ...outcome.remember };
    if (outcome.kind !== 'next') return { outcome, requests, steps, memory };
    request = outcome.request;
  }
}

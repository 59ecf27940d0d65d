import type { ConnectorDefinition } from '../../connectors/definition.ts';
import { secretsOf } from '../../connectors/describe.ts';
import type { Egress } from '../../egress/egress.ts';
import { EgressError } from '../../egress/egress-error.ts';
import { MAX_RESPONSE_BYTES, storedMessage } from './response-text.ts';
import { toResponse } from './send-connector.ts';

const TIMEOUT_MILLISECONDS = 10_000;
const MAX_STEPS = 5;

/** Whether a connector's credentials work, with a sentence for the seller. */
export type ProbeResult = { ok: boolean; message: string };

export type ConnectorProbe = (
  definition: ConnectorDefinition,
  config: Record<string, unknown>,
) => Promise<ProbeResult | undefined>;

/** Creates the function that checks credentials without side effects. Returns undefined for types without a check. */
export function createConnectorProbe(options: { egress: Pick<Egress, 'send'>; userAgent: string }): ConnectorProbe {
  const { egress, userAgent } = options;
  return async ({ probe, ...definition }, config) => {
    if (!probe) return undefined;
    const secrets = secretsOf({ ...definition, probe }, config);
    try {
      let request = probe.build(config);
      for (let steps = 1; steps <= MAX_STEPS; steps++) {
        const { method, url, headers, body } = request;
        const response = await egress.send({
          method,
          url,
          headers: { 'user-agent': userAgent, ...headers },
          ...(body !== undefined && { body }),
          timeoutMilliseconds: TIMEOUT_MILLISECONDS,
          maxResponseBytes: MAX_RESPONSE_BYTES,
        });
        const outcome = probe.classify(toResponse(response), config, request.step ?? 'send');
        if (!('next' in outcome)) return { ok: outcome.ok, message: storedMessage(outcome.message, secrets) };
        request = outcome.next;
      }
      return { ok: false, message: 'The check requires too many calls.' };
    } catch (error) {
      if (error instanceof EgressError) return { ok: false, message: storedMessage(error.message, secrets) };
      throw error;
    }
  };
}

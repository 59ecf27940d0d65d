import type { ConnectorDefinition, ProbeResult } from '../../connectors/definition.ts';
import { type ConnectorConfig, secretsOf } from '../../connectors/describe.ts';
import { cloudflareRefusal } from '../../connectors/shared/blocked.ts';
import { failedProbe } from '../../connectors/shared/classify.ts';
import type { Egress } from '../../egress/egress.ts';
import { EgressError } from '../../egress/egress-error.ts';
import type { Connector } from '../../generated/prisma/client.ts';
import type { Ready, WithToken } from './access-tokens.ts';
import { MAX_RESPONSE_BYTES, storedMessage } from './response-text.ts';
import { toResponse } from './vendor-response.ts';

const TIMEOUT_MILLISECONDS = 10_000;
const MAX_STEPS = 5;

export type ConnectorProbe = (
  connector: Pick<Connector, 'id' | 'projectId' | 'secretConfig'>,
  definition: ConnectorDefinition,
  config: ConnectorConfig,
) => Promise<ProbeResult | undefined>;

/** Creates the function that checks credentials without side effects. Returns undefined for types without a check. */
export function createConnectorProbe(options: {
  egress: Pick<Egress, 'send'>;
  withToken: WithToken;
  userAgent: string;
}): ConnectorProbe {
  const { egress, withToken, userAgent } = options;
  return async (connector, definition, config) => {
    const { probe } = definition;
    if (!probe) return undefined;

    async function ask({ config, secrets }: Ready): Promise<{ result: ProbeResult; isUnauthorized: boolean }> {
      let request = probe!.build(config);
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
        const received = toResponse(response);
        const refusal = cloudflareRefusal(definition, received);
        if (refusal) return { result: failedProbe(definition.title, refusal), isUnauthorized: false };
        const outcome = probe!.classify(received, config, request.step ?? 'send');
        if (!('next' in outcome)) {
          const result = { ...outcome, message: storedMessage(outcome.message, secrets) };
          return { result, isUnauthorized: response.statusCode === 401 };
        }
        request = outcome.next;
      }
      return { result: { ok: false, message: 'The check requires too many calls.' }, isUnauthorized: false };
    }

    try {
      const { id, projectId, secretConfig } = connector;
      const owner = { id, projectId, sealedCredential: secretConfig };
      const asked = await withToken(owner, definition, config, ask);
      if (!('kind' in asked)) return asked.result;
      return { ok: false, message: asked.kind === 'wait' ? 'Another check is in progress. Try again.' : asked.reason };
    } catch (error) {
      const secrets = secretsOf(definition, config);
      if (error instanceof EgressError) return { ok: false, message: storedMessage(error.message, secrets) };
      throw error;
    }
  };
}

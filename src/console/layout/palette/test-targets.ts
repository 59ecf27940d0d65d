import type { TestTargetsQuery } from '../../../generated/console/search.ts';
import { webhookName } from '../../parts/destinations.ts';
import { ENABLE_FIRST } from '../../parts/disable-dialog.tsx';
import type { useTestEvent } from '../../parts/use-test-event.ts';
import type { Entry } from './entries.ts';

/** A project's webhooks and connectors. Each entry sends a test event to one of them. */
export function testTargets(
  data: TestTargetsQuery | undefined,
  { toWebhook, toConnector }: Pick<ReturnType<typeof useTestEvent>, 'toWebhook' | 'toConnector'>,
): Entry[] {
  const types = new Map(data?.connectorTypes?.map((info) => [info.type, info]));
  const webhooks = (data?.project?.webhooks.nodes ?? []).map(
    (webhook): Entry => ({
      key: webhook.id,
      type: 'Webhook',
      label: webhookName(webhook),
      obstacle: webhook.isActive ? undefined : ENABLE_FIRST,
      run: () => void toWebhook(webhook),
    }),
  );
  const connectors = (data?.project?.connectors.nodes ?? []).map((connector): Entry => {
    const { title = connector.type, canProbe = false } = types.get(connector.type) ?? {};
    return {
      key: connector.id,
      type: 'Connector',
      label: connector.name ?? title,
      ...(canProbe && { detail: 'Tests its credentials' }),
      obstacle: connector.isActive || canProbe ? undefined : ENABLE_FIRST,
      run: () => void toConnector(connector),
    };
  });
  return [...webhooks, ...connectors];
}

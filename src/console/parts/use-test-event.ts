import { notifications } from '@mantine/notifications';
import { useLocation } from 'wouter';
import { TestConnectorDocument } from '../../generated/console/connectors.ts';
import { SendWebhookTestEventDocument } from '../../generated/console/webhooks.ts';
import type { Problem } from '../api/problem.ts';
import { useSubmit } from '../api/use-submit.ts';
import { announceTestEvent } from './disable-dialog.tsx';

type Target = { id: string; isPaused: boolean };

/**
 * Sends test events, announces the result, and opens the delivery's list. For connectors that have credentials to test,
 * it tests those instead.
 */
export function useTestEvent(projectId: string | undefined) {
  const [, go] = useLocation();
  const webhook = useSubmit(SendWebhookTestEventDocument);
  const connector = useSubmit(TestConnectorDocument);

  function showDelivery({ id, isPaused }: Target, delivery: Parameters<typeof announceTestEvent>[0]): void {
    announceTestEvent(delivery, isPaused);
    go(`/projects/${projectId}/deliveries?destination=${id}`);
  }

  async function toWebhook(target: Target): Promise<void> {
    const delivery = (await webhook.submit({ input: { id: target.id } }))?.sendWebhookTestEvent?.delivery;
    if (delivery) showDelivery(target, delivery);
  }

  async function toConnector(target: Target): Promise<void> {
    const result = (await connector.submit({ input: { id: target.id } }))?.testConnector;
    if (!result) return;
    if (result.delivery) return showDelivery(target, result.delivery);
    const { ok = false, message = '' } = result.probe ?? {};
    const title = ok ? 'Connection works' : 'Connection test failed';
    notifications.show({ title, message, color: ok ? 'teal' : 'red' });
  }

  const problem: Problem | undefined = webhook.problem ?? connector.problem;
  return { toWebhook, toConnector, problem, isBusy: webhook.isBusy || connector.isBusy };
}

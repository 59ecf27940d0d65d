import { RotateWebhookSecretDocument } from '../../../generated/console/webhooks.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { RotateSecretDialog } from '../../parts/rotate-secret.tsx';
import type { WebhookRow } from './rows.ts';

/** Creates a new signing secret for a webhook. */
export function RotateWebhookSecret(props: { webhook: WebhookRow; onClose(): void; onRotated(secret: string): void }) {
  const { webhook, onClose, onRotated } = props;
  const { submit, problem, isBusy } = useSubmit(RotateWebhookSecretDocument);
  return (
    <RotateSecretDialog
      title="Rotate signing secret"
      previousExpiresAt={webhook.previousSecretExpiresAt}
      isBusy={isBusy}
      problem={problem}
      onClose={onClose}
      onRotate={async (overlapHours) => {
        const data = await submit({ input: { id: webhook.id, overlapHours } });
        if (data?.rotateWebhookSecret) onRotated(data.rotateWebhookSecret.secret);
      }}
    />
  );
}

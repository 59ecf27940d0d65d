import { Button, Group, Modal, NumberInput, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { RotateWebhookSecretDocument } from '../../../generated/console/webhooks.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';
import type { WebhookRow } from './rows.ts';

export function RotateSecretDialog(props: { webhook: WebhookRow; onClose(): void; onRotated(secret: string): void }) {
  const { webhook, onClose, onRotated } = props;
  const form = useForm({ initialValues: { overlapHours: 24 } });
  const { submit, problem, isBusy } = useSubmit(RotateWebhookSecretDocument);
  useServerErrors(form, problem);
  const rotate = form.onSubmit(async ({ overlapHours }) => {
    const data = await submit({ input: { id: webhook.id, overlapHours } });
    if (data?.rotateWebhookSecret) onRotated(data.rotateWebhookSecret.secret);
  });
  return (
    <Modal opened onClose={onClose} title="New signing secret">
      <form onSubmit={rotate}>
        <Stack gap="md">
          <FormProblem form={form} problem={problem} />
          <Text size="sm">
            During the overlap every request carries a signature by the old and by the new secret, so that you can
            change your receiver without losing any.
          </Text>
          <NumberInput
            label="Overlap in hours"
            description="0 if the old secret has leaked: it signs nothing from now on."
            min={0}
            max={168}
            required
            data-autofocus
            {...form.getInputProps('overlapHours')}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isBusy}>
              Replace secret
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

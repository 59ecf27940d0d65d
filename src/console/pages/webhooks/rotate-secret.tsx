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
    <Modal opened onClose={onClose} title="Rotate signing secret">
      <form onSubmit={rotate}>
        <Stack gap="md">
          <FormProblem form={form} problem={problem} />
          <Text size="sm">
            During the overlap, every request is signed with both the old and the new secret, so you can update your
            server without rejecting any events.
          </Text>
          <NumberInput
            label="Overlap (hours)"
            description="If the old secret has leaked, use 0 so that it stops working immediately."
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
              Rotate secret
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

import { Button, Group, Modal, NumberInput, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { RotateWebhookSecretDocument } from '../../../generated/console/webhooks.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';
import { formatTime } from '../../parts/format.ts';
import { oldSecretEnd, type WebhookRow } from './rows.ts';

const HOUR_MILLISECONDS = 3_600_000;
const MAX_HOURS = 168;

/** Creates a new signing secret, and says when the current one stops working. */
export function RotateSecretDialog(props: { webhook: WebhookRow; onClose(): void; onRotated(secret: string): void }) {
  const { webhook, onClose, onRotated } = props;
  const form = useForm({ initialValues: { overlapHours: 24 } });
  const { submit, problem, isBusy } = useSubmit(RotateWebhookSecretDocument);
  useServerErrors(form, problem);
  const earlier = oldSecretEnd(webhook);
  const { overlapHours: hours } = form.values;
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
          {earlier && (
            <Text size="sm">
              You rotated this webhook’s secret recently. The previous secret works until {formatTime(earlier)}. If you
              rotate again, it stops working immediately.
            </Text>
          )}
          <NumberInput
            label="Overlap (hours)"
            description="If the old secret has leaked, use 0 so that it stops working immediately."
            min={0}
            max={MAX_HOURS}
            required
            data-autofocus
            {...form.getInputProps('overlapHours')}
          />
          <Text size="sm" role="status">
            {describeEnd(hours)}
          </Text>
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

/** When the current secret stops working. Empty while the number isn’t valid. */
function describeEnd(overlapHours: number | string): string {
  if (typeof overlapHours !== 'number' || overlapHours < 0 || overlapHours > MAX_HOURS) return '';
  if (overlapHours === 0) return 'The current secret stops working immediately.';
  const end = new Date(Date.now() + overlapHours * HOUR_MILLISECONDS);
  return `The current secret works until ${formatTime(end.toISOString())}.`;
}

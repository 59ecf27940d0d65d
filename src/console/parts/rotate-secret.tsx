import { Button, Group, Modal, NumberInput, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { Problem } from '../api/problem.ts';
import { FormProblem, useServerErrors } from './form.tsx';
import { formatTime } from './format.ts';
import { previousSecretEnd } from './previous-secret.ts';

const HOUR_MILLISECONDS = 3_600_000;
const MAX_HOURS = 168;

/**
 * Replaces a secret that signs requests, and says when the current one stops working.
 *
 * @param previousExpiresAt until when the secret before the current one works, if it does.
 */
export function RotateSecretDialog(props: {
  title: string;
  previousExpiresAt: string | null | undefined;
  isBusy: boolean;
  problem: Problem | undefined;
  onClose(): void;
  onRotate(overlapHours: number): void;
}) {
  const { title, previousExpiresAt, isBusy, problem, onClose, onRotate } = props;
  const form = useForm({ initialValues: { overlapHours: 24 } });
  useServerErrors(form, problem);
  const earlier = previousSecretEnd(previousExpiresAt);
  const { overlapHours: hours } = form.values;
  const rotate = form.onSubmit(({ overlapHours }) => onRotate(overlapHours));
  return (
    <Modal opened onClose={onClose} title={title}>
      <form onSubmit={rotate}>
        <Stack gap="md">
          <FormProblem form={form} problem={problem} />
          {problem?.code === 'NO_RESPONSE' && (
            <Text size="sm">
              The secret may have been rotated anyway. Reload the page to find out. If you rotate it twice, the current
              secret stops working immediately.
            </Text>
          )}
          <Text size="sm">
            During the overlap, every request is signed with both the old and the new secret, so you can update your
            server without rejecting any of them.
          </Text>
          {earlier && (
            <Text size="sm">
              The secret was rotated recently. The previous one works until {formatTime(earlier)}. If you rotate again,
              it stops working immediately.
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

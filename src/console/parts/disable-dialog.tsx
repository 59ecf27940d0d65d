import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { DeliveryStatus } from '../../generated/console/deliveries.ts';
import type { Problem } from '../api/problem.ts';
import { ConfirmDialog } from './confirm.tsx';
import { showDone } from './toast.tsx';

/** Why you can't send a test event to a disabled webhook or connector. */
export const ENABLE_FIRST = 'Enable it first. Nothing is sent while it’s disabled.';

/** For dialogs that suggest disabling instead of deleting. */
export const DISABLE_INSTEAD =
  'To stop sending but keep the history, disable it instead. Events that happen while it’s disabled are skipped. To hold events and send them later, pause it.';

/**
 * Asks for confirmation before a webhook or connector is disabled, because its events are then skipped. Offers to pause
 * it instead.
 *
 * @param onPause undefined if it is already paused.
 */
export function DisableDialog(props: {
  what: 'webhook' | 'connector';
  isBusy: boolean;
  problem: Problem | undefined;
  onConfirm(): void;
  onPause: (() => void) | undefined;
  onClose(): void;
}) {
  const { what, onPause, ...rest } = props;
  const pause = onPause && (
    <Button variant="default" disabled={rest.isBusy} onClick={onPause}>
      Pause instead
    </Button>
  );
  return (
    <ConfirmDialog isOpen title={`Disable ${what}`} action="Disable" alternative={pause} {...rest}>
      Events that happen while it’s disabled are skipped, and so are deliveries that are waiting now. They stay in the
      history, but aren’t sent automatically later. To send them, enable the {what}, then replay the skipped deliveries.
      {onPause && ` To hold events and send them later, pause the ${what} instead.`}
    </ConfirmDialog>
  );
}

/**
 * Tells the user what happens to a test event. If the destination is disabled, the event is skipped immediately.
 * Pausing doesn't hold it.
 */
export function announceTestEvent(
  { status, reason }: { status: DeliveryStatus; reason?: string | null },
  isPaused: boolean,
) {
  if (status !== 'SKIPPED') {
    return showDone(
      isPaused ? 'Test event queued. It will be sent even though deliveries are paused.' : 'Test event queued',
    );
  }
  const message = reason === 'disabled' ? ENABLE_FIRST : `The event was skipped: ${reason}.`;
  notifications.show({ title: 'Test event not sent', message, color: 'red' });
}

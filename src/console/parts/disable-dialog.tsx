import { notifications } from '@mantine/notifications';
import type { DeliveryStatus } from '../../generated/console/deliveries.ts';
import type { Problem } from '../api/problem.ts';
import { ConfirmDialog } from './confirm.tsx';

/** Why a disabled webhook or connector can't be sent a test event. */
export const ENABLE_FIRST = 'Enable it first. Nothing is sent while it’s disabled.';

/** For dialogs that suggest disabling instead of deleting. */
export const DISABLE_INSTEAD =
  'To stop sending but keep the history, disable it instead. Events that happen while it’s disabled are skipped. To hold events and send them later, pause it.';

/** Asks before a webhook or connector is disabled, since its events are skipped from then on. */
export function DisableDialog(props: {
  what: 'webhook' | 'connector';
  isBusy: boolean;
  problem: Problem | undefined;
  onConfirm(): void;
  onClose(): void;
}) {
  const { what, ...rest } = props;
  return (
    <ConfirmDialog isOpen title={`Disable ${what}`} action="Disable" {...rest}>
      Events that happen while it’s disabled are skipped, and so are deliveries that are waiting now. They stay in the
      history, but aren’t sent automatically later. To send them, enable the {what}, then replay the skipped deliveries.
    </ConfirmDialog>
  );
}

/** Tells the user whether a test event was sent. If the destination is disabled, the event is skipped immediately. */
export function announceTestEvent({ status, reason }: { status: DeliveryStatus; reason?: string | null }): void {
  if (status !== 'SKIPPED') return void notifications.show({ message: 'Sending test event', color: 'teal' });
  const message = reason === 'disabled' ? ENABLE_FIRST : `The event was skipped: ${reason}.`;
  notifications.show({ title: 'Test event not sent', message, color: 'red' });
}

import { notifications } from '@mantine/notifications';
import type { DeliveryStatus } from '../../generated/console/deliveries.ts';
import type { Problem } from '../api/problem.ts';
import { ConfirmDialog } from './confirm.tsx';

/** Why a webhook or connector that is off cannot be sent a test event. */
export const SWITCH_ON_FIRST = 'Switch it on first: it is off and is sent nothing.';

/** For dialogs that offer to switch off instead of deleting. */
export const INSTEAD_OF_DELETING =
  'To keep it without sending to it, switch it off instead: events that happen while it is off are skipped.';

/** Asks before a webhook or connector is switched off, since that loses what happens meanwhile. */
export function SwitchOffDialog(props: {
  what: 'webhook' | 'connector';
  isBusy: boolean;
  problem: Problem | undefined;
  onConfirm(): void;
  onClose(): void;
}) {
  const { what, ...rest } = props;
  return (
    <ConfirmDialog isOpen title={`Switch off ${what}`} action="Switch off" {...rest}>
      Events that happen while it is off are skipped, and so are deliveries that wait now. They are not delivered later
      by themselves. They stay in the history as skipped: once the {what} is on again, you can send them with “Send many
      again”.
    </ConfirmDialog>
  );
}

/** Says what became of a test event: one for a destination that is off is skipped at once. */
export function announceTestEvent({ status, reason }: { status: DeliveryStatus; reason?: string | null }): void {
  if (status !== 'SKIPPED') return void notifications.show({ message: 'The test event is on its way', color: 'teal' });
  const message = reason === 'disabled' ? SWITCH_ON_FIRST : `It was skipped: ${reason}.`;
  notifications.show({ title: 'The test event was not sent', message, color: 'red' });
}

import { Code } from '@mantine/core';
import { ConfirmDialog } from '../../parts/confirm.tsx';
import { Facts } from '../../parts/facts.tsx';

/** A change to a setting that affects who gets paid. */
export type PayeeChange = {
  field: 'walletAddress' | 'gatewayHost';
  before: string | null;
  after: string | null;
};

const WORDS = {
  walletAddress: {
    name: 'wallet',
    effect:
      'Starting with the next payment, buyers pay the new wallet. Payments to the wrong address can’t be recovered.',
  },
  gatewayHost: {
    name: 'gateway host',
    effect:
      'Buyers can reach your endpoints only at the new host name. The old one stays reserved for your account for 30 days.',
  },
} as const;

/** A form's changes that affect who gets paid. */
export function payeeChanges(
  settings: { walletAddress: string; gatewayHost?: string | null | undefined },
  values: { walletAddress: string; gatewayHost: string },
): PayeeChange[] {
  const changes: PayeeChange[] = [
    { field: 'walletAddress', before: settings.walletAddress, after: values.walletAddress },
    { field: 'gatewayHost', before: settings.gatewayHost ?? null, after: values.gatewayHost || null },
  ];
  return changes.filter(({ before, after }) => before !== after);
}

/** Shows the old and new values, and asks the user to type the new value or, if the value is removed, the old one. */
export function PayeeDialog(props: {
  changes: readonly PayeeChange[];
  isBusy: boolean;
  onConfirm(): void;
  onClose(): void;
}) {
  const { changes, ...rest } = props;
  const title = `Change ${changes.map(({ field }) => WORDS[field].name).join(' and ')}`;
  return (
    <ConfirmDialog
      isOpen
      title={title}
      action="Change"
      typed={changes.map(({ before, after }) => after ?? before ?? '')}
      {...rest}
    >
      {changes.map(({ field, before, after }) => (
        <div key={field}>
          {WORDS[field].effect}
          <Facts
            rows={[
              [`Old ${WORDS[field].name}`, before === null ? 'None' : <Code key="before">{before}</Code>],
              [`New ${WORDS[field].name}`, after === null ? 'None' : <Code key="after">{after}</Code>],
            ]}
          />
        </div>
      ))}
    </ConfirmDialog>
  );
}

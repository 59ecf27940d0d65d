import { Code } from '@mantine/core';
import { ConfirmDialog } from '../../parts/confirm.tsx';
import { Facts } from '../../parts/facts.tsx';

/** A change of what decides who is paid. */
export type PayeeChange = {
  field: 'walletAddress' | 'gatewayHost';
  before: string | null;
  after: string | null;
};

const WORDS = {
  walletAddress: {
    name: 'wallet',
    effect:
      'Buyers pay the new wallet from the next payment on. What is paid to a wrong address cannot be brought back.',
  },
  gatewayHost: {
    name: 'gateway host',
    effect:
      'Buyers reach your endpoints under the new host name only. A name that you let go of stays reserved for your account for 30 days.',
  },
} as const;

/** What a form would change of who is paid. */
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

/** Shows old and new, and has the new typed; of what is removed, the old. */
export function PayeeDialog(props: {
  changes: readonly PayeeChange[];
  isBusy: boolean;
  onConfirm(): void;
  onClose(): void;
}) {
  const { changes, ...rest } = props;
  const title = `Change the ${changes.map(({ field }) => WORDS[field].name).join(' and the ')}`;
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
              [`Old ${WORDS[field].name}`, before === null ? 'none' : <Code key="before">{before}</Code>],
              [`New ${WORDS[field].name}`, after === null ? 'none' : <Code key="after">{after}</Code>],
            ]}
          />
        </div>
      ))}
    </ConfirmDialog>
  );
}

import { Code } from '@mantine/core';
import { ConfirmDialog } from './confirm.tsx';
import { Facts } from './facts.tsx';

/** A change to a setting that determines who gets paid, or what buyers get for their money. */
export type PayeeChange = {
  field: 'walletAddress' | 'networks' | 'gatewayHost' | 'slug' | 'upstreamUrl';
  before: string | null;
  after: string | null;
};

const WORDS = {
  walletAddress: {
    name: 'wallet',
    effect:
      'Starting with the next payment, buyers pay the new wallet. Payments to the wrong address can’t be recovered.',
  },
  networks: {
    name: 'networks',
    effect:
      'Starting with the next payment, buyers can pay only on the new networks. Make sure that you can use your wallet on each of them.',
  },
  gatewayHost: {
    name: 'custom domain',
    effect:
      'A new domain replaces the old one once you verify that you own it. The old one stays reserved for your account for 30 days.',
  },
  slug: {
    name: 'default domain name',
    effect: 'Buyers who use the old name get a 404. The old name stays reserved for your account for 30 days.',
  },
  upstreamUrl: {
    name: 'upstream URL',
    effect: 'Starting with the next request, buyers get their responses from the new URL.',
  },
} as const;

/** A project form's changes that affect who gets paid. */
export function payeeChanges(
  settings: { walletAddress: string; gatewayHost?: string | null | undefined; slug?: string | null | undefined },
  values: { walletAddress: string; gatewayHost: string; slug: string },
): PayeeChange[] {
  const changes: PayeeChange[] = [
    { field: 'walletAddress', before: settings.walletAddress, after: values.walletAddress },
    { field: 'gatewayHost', before: settings.gatewayHost ?? null, after: values.gatewayHost || null },
    ...(settings.slug ? [{ field: 'slug' as const, before: settings.slug, after: values.slug }] : []),
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

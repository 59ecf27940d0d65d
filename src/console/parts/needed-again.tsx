import { Alert } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';

/** A secret that must be entered again, because a change to an address affects where it is sent. */
export type NeededAgain = { path: string; title: string };

/** The errors of the fields with these secrets. */
export function neededAgainErrors(needed: readonly NeededAgain[]): Record<string, string> {
  return Object.fromEntries(needed.map(({ path }) => [path, 'Enter this again because the address has changed.']));
}

/** Lists the secrets that must be entered again. Shows nothing if there are none. */
export function NeededAgainAlert({ needed }: { needed: readonly NeededAgain[] }) {
  if (needed.length === 0) return null;
  return (
    <Alert color="orange" icon={<IconKey size={18} />} title="You’re changing the address">
      Enter these again so they can be sent to the new address: {needed.map(({ title }) => title).join(', ')}.
    </Alert>
  );
}

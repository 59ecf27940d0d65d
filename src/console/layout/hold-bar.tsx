import { Alert } from '@mantine/core';
import { IconPlayerPause } from '@tabler/icons-react';
import { useEffect } from 'react';
import { useQuery } from 'urql';
import { InstallationDocument } from '../../generated/console/installation.ts';

const CHECK_EVERY_MILLISECONDS = 15_000;

/** Shows that nothing is sent or paid, so that nobody looks for the reason in their own project. */
export function HoldBar() {
  const [{ data }, reload] = useQuery({ query: InstallationDocument });
  const isOnHold = data?.isOnHold === true;
  useEffect(() => {
    if (!isOnHold) return undefined;
    const timer = setInterval(() => reload({ requestPolicy: 'network-only' }), CHECK_EVERY_MILLISECONDS);
    return () => clearInterval(timer);
  }, [isOnHold, reload]);
  if (!isOnHold) return null;
  return (
    <Alert color="yellow" icon={<IconPlayerPause size={18} />} role="status" title="This service is on hold">
      It was restored from a backup, or an operator put it on hold. Deliveries wait, and payments aren’t accepted.
      Everything resumes when an operator ends the hold.
    </Alert>
  );
}

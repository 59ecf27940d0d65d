import { Alert } from '@mantine/core';
import { useNetwork } from '@mantine/hooks';
import { IconWifiOff } from '@tabler/icons-react';

/** Shows that the browser is offline, so that nobody mistakes outdated numbers for current ones. */
export function OfflineBar() {
  const { online } = useNetwork();
  if (online) return null;
  return (
    <Alert color="yellow" icon={<IconWifiOff size={18} />} role="status" title="You’re offline">
      What you see may be out of date, and changes can’t be saved. Check your connection. Once you’re back online, live
      pages resume automatically, and you can reload the others.
    </Alert>
  );
}

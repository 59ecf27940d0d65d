import { Notifications } from '@mantine/notifications';

/** Shows the messages that pages send with `parts/toast.tsx`. */
export function Toaster() {
  return <Notifications position="bottom-right" />;
}

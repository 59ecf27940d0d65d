import { SegmentedControl } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';

type Choice = 'utc' | 'local';

/** The reader's own time zone: `Europe/Berlin`. */
const OWN_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The time zone of charts, as an IANA name, and a control to change it. The browser remembers the choice. */
export function useTimeZone() {
  const [choice, setChoice] = useLocalStorage<Choice>({
    key: 'tollgate.time-zone',
    defaultValue: 'utc',
    getInitialValueInEffect: false,
  });
  const control = (
    <SegmentedControl
      aria-label="Time zone"
      size="xs"
      data={[
        { value: 'utc', label: 'UTC' },
        { value: 'local', label: 'Local' },
      ]}
      value={choice}
      onChange={(value) => setChoice(value as Choice)}
    />
  );
  return { timeZone: choice === 'local' ? OWN_ZONE : 'UTC', control };
}

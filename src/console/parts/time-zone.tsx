import { SegmentedControl } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';

type Choice = 'project' | 'utc' | 'local';

/** The reader's own time zone: `Europe/Berlin`. */
const OWN_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/**
 * The time zone of charts, as an IANA name, and a control to change it. The browser remembers the choice. By default, it is the
 * project's.
 */
export function useTimeZone(projectZone: string) {
  const [stored, setChoice] = useLocalStorage<Choice>({
    key: 'tollgate.time-zone',
    defaultValue: 'project',
    getInitialValueInEffect: false,
  });
  const isUtc = projectZone === 'UTC';
  const choice = isUtc && stored === 'utc' ? 'project' : stored;
  const control = (
    <SegmentedControl
      aria-label="Time zone"
      size="xs"
      data={[
        { value: 'project', label: isUtc ? 'UTC' : placeOf(projectZone) },
        ...(isUtc ? [] : [{ value: 'utc', label: 'UTC' }]),
        { value: 'local', label: 'Local' },
      ]}
      value={choice}
      onChange={(value) => setChoice(value as Choice)}
    />
  );
  return { timeZone: { project: projectZone, utc: 'UTC', local: OWN_ZONE }[choice], control };
}

/** `New York` for `America/New_York`. */
function placeOf(timeZone: string): string {
  return timeZone.slice(timeZone.lastIndexOf('/') + 1).replaceAll('_', ' ');
}

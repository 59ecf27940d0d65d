import { Badge, Code, Drawer, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from 'urql';
import { EventDocument, type EventQuery } from '../../../generated/console/events.ts';
import { toProblem } from '../../api/problem.ts';
import { Copy } from '../../parts/copy-button.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { useDestinations } from '../../parts/destinations.ts';
import { Facts } from '../../parts/facts.tsx';
import { formatEventType, formatTime } from '../../parts/format.ts';
import { JsonView } from '../../parts/json-view.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';

type Shown = NonNullable<NonNullable<EventQuery['project']>['event']>;

/** One event with its payload. Connector messages link here. */
export function EventDrawer({ eventId, onClose }: { eventId: string; onClose(): void }) {
  const project = useProject();
  const [{ data, error }, reload] = useQuery({ query: EventDocument, variables: { projectId: project.id, eventId } });
  const event = data?.project?.event;
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title="Event"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      {!data && !error && <Skeleton height={200} />}
      {data && !event && (
        <Text size="sm">Event not found. Events are deleted after the retention period, 90 days by default.</Text>
      )}
      {event && <Details event={event} />}
    </Drawer>
  );
}

function Details({ event: { id, type, test, version, timestamp, data, filteredOut } }: { event: Shown }) {
  const destinations = useDestinations(useProject().id);
  const names = filteredOut.map((destination) => destinations.get(destination)?.name ?? destination);
  return (
    <Stack gap="md">
      <Group gap="sm">
        <Text fz={22} fw={600}>
          {formatEventType(type)}
        </Text>
        {test && <Badge color="gray">Test</Badge>}
      </Group>
      <Facts
        rows={[
          [
            'Event ID',
            <Group key="id" gap={4} wrap="nowrap">
              <Code bg="transparent" p={0} style={{ overflowWrap: 'anywhere' }}>
                {id}
              </Code>
              <Copy value={id} what="event ID" />
            </Group>,
          ],
          ['Time', formatTime(timestamp)],
          ['Payload version', String(version)],
          ['Filtered out for', names.join(', ')],
        ]}
      />
      <JsonView title="Payload" value={data} />
    </Stack>
  );
}

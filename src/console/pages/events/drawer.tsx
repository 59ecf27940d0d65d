import { Anchor, Badge, Code, Drawer, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from 'urql';
import { Link } from 'wouter';
import { EventDocument, type EventQuery } from '../../../generated/console/events.ts';
import { toProblem } from '../../api/problem.ts';
import { Copy } from '../../parts/copy-button.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { useDestinations } from '../../parts/destinations.ts';
import { Facts } from '../../parts/facts.tsx';
import { formatEventType, formatTime } from '../../parts/format.ts';
import { StepButtons, type Steps } from '../../parts/item-steps.tsx';
import { JsonView } from '../../parts/json-view.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';

type Shown = NonNullable<NonNullable<EventQuery['project']>['event']>;

/** One event with its payload. Connector messages link here. */
export function EventDrawer({ eventId, steps, onClose }: { eventId: string; steps: Steps; onClose(): void }) {
  const project = useProject();
  const variables = { projectId: project.id, eventId };
  const [{ data, error, fetching }, reload] = useQuery({ query: EventDocument, variables });
  const found = data?.project?.event;
  // While another event is loading, the query still returns the previous one.
  const event = found?.id === eventId ? found : undefined;
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title="Event"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack gap="md">
        <StepButtons steps={steps} what="event" />
        {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
        {!event && fetching && <Skeleton height={200} />}
        {!event && !fetching && !error && (
          <Text size="sm">Event not found. Events are deleted after the retention period, 90 days by default.</Text>
        )}
        {event && <Details event={event} />}
      </Stack>
    </Drawer>
  );
}

function Details({ event: { id, type, test, version, timestamp, data, filteredOut } }: { event: Shown }) {
  const project = useProject();
  const destinations = useDestinations(project.id);
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
          ['Filtered out by', names.join(', ')],
          [
            'Deliveries',
            <Anchor
              key="deliveries"
              component={Link}
              href={`/projects/${project.id}/deliveries?eventId=${id}`}
              size="sm"
            >
              Show this event’s deliveries
            </Anchor>,
          ],
        ]}
      />
      <JsonView title="Payload" value={data} />
    </Stack>
  );
}

import { Anchor, Badge, Box, Table, Text } from '@mantine/core';
import { useEffect, useEffectEvent, useState } from 'react';
import { TestEventFilterDocument, type TestEventFilterMutation } from '../../../generated/console/event-filter.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { useProject } from '../current-project.tsx';
import { checkFilter, parseFilter } from '../destination-values.ts';
import { formatEventType } from '../format.ts';
import { useRoleObstacle } from '../role.tsx';

type Result = NonNullable<TestEventFilterMutation['testEventFilter']>['results'][number];

const LATEST_COUNT = 10;
/** Each test is a request, so wait until the user stops typing. */
const TYPING_MILLISECONDS = 500;

/**
 * Shows which of the project's latest events a filter matches while it is being edited. If there are no events, uses
 * samples.
 */
export function FilterPreview({ value, eventTypes }: { value: string; eventTypes: readonly string[] }) {
  const project = useProject();
  const isAllowed = useRoleObstacle('DEVELOPER') === undefined;
  const { submit, problem } = useSubmit(TestEventFilterDocument);
  const [shown, setShown] = useState<{ value: string; results: readonly Result[] }>();
  const isReady = isAllowed && value.trim() !== '' && checkFilter(value) === null;

  const test = useEffectEvent(async (text: string, isCurrent: () => boolean) => {
    const input = { projectId: project.id, filter: parseFilter(text) };
    const latest = (await submit({ input: { ...input, latest: LATEST_COUNT } }))?.testEventFilter?.results;
    if (!latest || !isCurrent()) return;
    const results = latest.length > 0 ? latest : (await submit({ input }))?.testEventFilter?.results;
    if (results && isCurrent()) setShown({ value: text, results });
  });
  useEffect(() => {
    if (!isReady) return;
    let isCurrent = true;
    const timer = setTimeout(() => void test(value, () => isCurrent), TYPING_MILLISECONDS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [isReady, value]);

  if (!isReady) return null;
  if (problem) {
    return (
      <Text size="xs" c="dimmed" role="status">
        {problem.fields.map(({ message }) => message).join(' ') || problem.message}
      </Text>
    );
  }
  if (!shown) return null;
  const { results } = shown;
  return (
    // It scrolls, so it must be reachable by keyboard.
    <Box
      className="filter-preview"
      tabIndex={0}
      role="region"
      aria-label="Filter test"
      aria-busy={shown.value !== value}
    >
      <Text size="xs" c="dimmed" role="status">
        {summaryOf(results)}
      </Text>
      <Table verticalSpacing={2} horizontalSpacing={4} fz="xs">
        <caption className="visually-hidden">Events used to test the filter</caption>
        <Table.Tbody>
          {results.map(({ eventType, eventId, matches }) => (
            <Table.Tr key={eventId ?? eventType}>
              <Table.Td w={110}>
                <Badge size="sm" color={matches ? 'teal' : 'gray'}>
                  {matches ? 'Matches' : 'No match'}
                </Badge>
              </Table.Td>
              <Table.Td>{formatEventType(eventType)}</Table.Td>
              <Table.Td>
                {eventId && (
                  <Anchor size="xs" href={`/console/projects/${project.id}/events/${eventId}`} target="_blank">
                    {eventId}
                  </Anchor>
                )}
                {eventTypes.length > 0 && !eventTypes.includes(eventType) && ' Not one of the selected events'}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Box>
  );
}

function summaryOf(results: readonly Result[]): string {
  const count = results.filter(({ matches }) => matches).length;
  if (results[0]?.eventId == null) {
    return `This project has no events yet. The filter matches the samples for ${count} of ${results.length} event types.`;
  }
  return results.length === 1
    ? `The filter ${count === 1 ? 'matches' : 'doesn’t match'} the latest event.`
    : `The filter matches ${count} of the latest ${results.length} events.`;
}

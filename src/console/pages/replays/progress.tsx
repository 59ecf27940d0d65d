import { Badge, Button, Group, Progress, Stack, Text } from '@mantine/core';
import { CancelReplayDocument, type ReplayRowFragment } from '../../../generated/console/replays.ts';
import { useSubmit } from '../../api/use-submit.ts';
import type { Destination } from '../../parts/destinations.ts';
import { formatCount, formatEnum, formatEventType } from '../../parts/format.ts';
import { Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Time } from '../../parts/time.tsx';

const COLORS: Readonly<Record<ReplayRowFragment['status'], string>> = {
  RUNNING: 'blue',
  COMPLETED: 'teal',
  CANCELLED: 'gray',
};

type Destinations = ReadonlyMap<string, Destination>;

/** The progress of each replay, with a button to cancel it. */
export function ReplayProgress(props: {
  replays: readonly ReplayRowFragment[];
  destinations: Destinations;
  onChange(replay: ReplayRowFragment): void;
}) {
  const { replays, destinations, onChange } = props;
  const { submit, problem, isBusy } = useSubmit(CancelReplayDocument);
  async function cancel(id: string) {
    const result = await submit({ input: { id } });
    if (result?.cancelReplay) onChange(result.cancelReplay.replay);
  }
  if (replays.length === 0) return null;
  return (
    <Panel title="Replays">
      {problem && <ProblemNotice problem={problem} />}
      {replays.map((replay) => (
        <Stack key={replay.id} gap={6}>
          <Group gap="xs" justify="space-between">
            <Group gap="xs">
              <Badge color={COLORS[replay.status]}>{formatEnum(replay.status)}</Badge>
              <Text size="sm" className="numeric" role="status">
                {describeProgress(replay)}
              </Text>
              <Text size="xs" c="dimmed">
                {describeFilter(replay.filter as StoredFilter, destinations)} · <Time iso={replay.createdAt} />
              </Text>
            </Group>
            {replay.status === 'RUNNING' && (
              <Button size="compact-xs" variant="default" loading={isBusy} onClick={() => void cancel(replay.id)}>
                Cancel
              </Button>
            )}
          </Group>
          <Progress
            value={share(replay)}
            color={COLORS[replay.status]}
            aria-label={`Replayed ${describeProgress(replay)}`}
          />
        </Stack>
      ))}
    </Panel>
  );
}

function share({ done, skipped, total }: ReplayRowFragment): number {
  return total === 0 ? 100 : Math.min(100, (100 * (done + skipped)) / total);
}

function describeProgress({ done, skipped, total }: ReplayRowFragment): string {
  const rest = skipped > 0 ? `, ${formatCount(skipped)} skipped` : '';
  return `${formatCount(done)} of ${formatCount(total)}${rest}`;
}

/** The filter as the service returns it, without empty fields. */
type StoredFilter = {
  status?: string[];
  eventTypes?: string[];
  webhookId?: string;
  connectorId?: string;
  from?: string;
  to?: string;
};

function describeFilter(filter: StoredFilter, destinations: Destinations): string {
  const { status, eventTypes, webhookId, connectorId } = filter;
  const to = webhookId ?? connectorId;
  const parts = [
    status?.map(formatEnum).join(', '),
    eventTypes?.map(formatEventType).join(', '),
    to && `to ${destinations.get(to)?.name ?? to}`,
  ].filter(Boolean);
  return parts.length > 0 ? parts.join(' · ') : 'All deliveries';
}

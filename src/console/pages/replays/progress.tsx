import { Badge, Button, Group, Progress, Stack, Text } from '@mantine/core';
import { CancelReplayDocument, type ReplayRowFragment } from '../../../generated/console/replays.ts';
import { useSubmit } from '../../api/use-submit.ts';
import type { Destination } from '../../parts/destinations.ts';
import { formatEnum } from '../../parts/format.ts';
import { Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { ActionForRole } from '../../parts/role.tsx';
import { Time } from '../../parts/time.tsx';
import { describeFilter, describeProgress, REPLAY_STATUS_COLORS, shareDone } from './describe.ts';

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
              <Badge color={REPLAY_STATUS_COLORS[replay.status]}>{formatEnum(replay.status)}</Badge>
              <Text size="sm" className="numeric" role="status">
                {describeProgress(replay)}
              </Text>
              <Text size="xs" c="dimmed">
                {describeFilter(replay, destinations)} · <Time iso={replay.createdAt} />
              </Text>
            </Group>
            {replay.status === 'RUNNING' && (
              <ActionForRole lowest="DEVELOPER">
                <Button size="compact-xs" variant="default" loading={isBusy} onClick={() => void cancel(replay.id)}>
                  Cancel
                </Button>
              </ActionForRole>
            )}
          </Group>
          <Progress
            value={shareDone(replay)}
            color={REPLAY_STATUS_COLORS[replay.status]}
            aria-label={`Replayed ${describeProgress(replay)}`}
          />
        </Stack>
      ))}
    </Panel>
  );
}

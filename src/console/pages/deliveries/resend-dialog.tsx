import { Button, Group, Modal, Stack } from '@mantine/core';
import { useEffect, useEffectEvent, useState } from 'react';
import { CreateReplayDocument, type ReplayRowFragment } from '../../../generated/console/replays.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { useProject } from '../../parts/current-project.tsx';
import { Loading } from '../../parts/loading.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Counted, countDeliveries } from '../replays/counted.tsx';

const PER_SECOND = 50;

/** Resends the selected deliveries as a replay, after showing how many there are. */
export function ResendDialog(props: {
  deliveryIds: readonly string[];
  onStarted(replay: ReplayRowFragment): void;
  onClose(): void;
}) {
  const { deliveryIds, onStarted, onClose } = props;
  const project = useProject();
  const counting = useSubmit(CreateReplayDocument);
  const starting = useSubmit(CreateReplayDocument);
  const [total, setTotal] = useState<number>();
  const problem = starting.problem ?? counting.problem;
  const input = { projectId: project.id, filter: { deliveryIds: [...deliveryIds] }, maxPerSecond: PER_SECOND };
  const count = useEffectEvent(async () => {
    const result = await counting.submit({ input: { ...input, dryRun: true } });
    if (result?.createReplay) setTotal(result.createReplay.total);
  });
  useEffect(() => void count(), []);
  async function start() {
    const result = await starting.submit({ input });
    if (result?.createReplay?.replay) onStarted(result.createReplay.replay);
  }
  return (
    <Modal opened onClose={onClose} title="Resend selected deliveries" size="lg">
      <Stack gap="md">
        {problem && <ProblemNotice problem={problem} />}
        {total === undefined && !problem && <Loading />}
        {total !== undefined && (
          <Counted total={total} maxPerSecond={PER_SECOND} none="The selected deliveries no longer exist." />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button loading={starting.isBusy} disabled={!total} onClick={start}>
            Resend {countDeliveries(total ?? deliveryIds.length)}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

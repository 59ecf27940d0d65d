import { Alert, Button, Group, Modal, MultiSelect, NumberInput, Select, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconHistory } from '@tabler/icons-react';
import { useState } from 'react';
import { CreateReplayDocument, type ReplayFilter, type ReplayRowFragment } from '../../../generated/console/replays.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { useProject } from '../../parts/current-project.tsx';
import { EventTypesField } from '../../parts/event-types-field.tsx';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';
import { formatCount, formatEnum } from '../../parts/format.ts';
import type { Destination } from './destinations.ts';
import { type DeliveryFilters, STATUSES } from './filters.tsx';

const DEFAULT_PER_SECOND = 50;
const MAX_PER_SECOND = 1_000;

type Values = {
  status: string[];
  eventTypes: string[];
  destinationId: string | null;
  from: string;
  to: string;
  maxPerSecond: number | string;
};

/** Sends many deliveries again: chooses them, shows how many they are, and asks before it begins. */
export function ReplayDialog(props: {
  filters: DeliveryFilters;
  destinations: ReadonlyMap<string, Destination>;
  onStarted(replay: ReplayRowFragment): void;
  onClose(): void;
}) {
  const { filters, destinations, onStarted, onClose } = props;
  const project = useProject();
  const [total, setTotal] = useState<number>();
  const counting = useSubmit(CreateReplayDocument);
  const starting = useSubmit(CreateReplayDocument);
  const problem = starting.problem ?? counting.problem;
  const form = useForm<Values>({
    initialValues: {
      status: filters.status.filter((status) => status !== 'RUNNING'),
      eventTypes: filters.eventTypes,
      destinationId: filters.destinationId,
      from: '',
      to: '',
      maxPerSecond: DEFAULT_PER_SECOND,
    },
    // What was counted is not what would be sent any more.
    onValuesChange: () => setTotal(undefined),
  });
  useServerErrors(form, problem);
  const inputOf = (values: Values) => ({
    projectId: project.id,
    filter: replayFilter(values),
    maxPerSecond: Number(values.maxPerSecond) || DEFAULT_PER_SECOND,
  });
  const count = form.onSubmit(async (values) => {
    const answer = await counting.submit({ input: { ...inputOf(values), dryRun: true } });
    if (answer?.createReplay) setTotal(answer.createReplay.total);
  });
  async function start() {
    const answer = await starting.submit({ input: inputOf(form.getValues()) });
    if (answer?.createReplay?.replay) onStarted(answer.createReplay.replay);
  }
  return (
    <Modal opened onClose={onClose} title="Send many again" size="lg">
      <form onSubmit={count}>
        <Stack gap="md">
          <FormProblem form={form} problem={problem} />
          <MultiSelect
            label="States"
            description="None chosen: all. What is being sent at that moment is left alone."
            data={STATUSES.filter((status) => status !== 'RUNNING').map((value) => ({
              value,
              label: formatEnum(value),
            }))}
            placeholder={form.getValues().status.length === 0 ? 'All states' : ''}
            clearable
            {...form.getInputProps('status')}
          />
          <EventTypesField label="Kinds of events" {...form.getInputProps('eventTypes')} />
          <Select
            label="Destination"
            placeholder="All destinations"
            data={[...destinations.values()].map(({ id, name }) => ({ value: id, label: name }))}
            clearable
            searchable
            {...form.getInputProps('destinationId')}
          />
          <Group grow align="flex-start">
            <TextInput type="datetime-local" label="Created from" {...form.getInputProps('from')} />
            <TextInput type="datetime-local" label="Created before" {...form.getInputProps('to')} />
            <NumberInput
              label="At most a second"
              min={1}
              max={MAX_PER_SECOND}
              allowDecimal={false}
              {...form.getInputProps('maxPerSecond')}
            />
          </Group>
          {total !== undefined && <Counted total={total} maxPerSecond={Number(form.getValues().maxPerSecond)} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Close
            </Button>
            {total === undefined || total === 0 ? (
              <Button type="submit" loading={counting.isBusy}>
                Count them
              </Button>
            ) : (
              <Button loading={starting.isBusy} onClick={start}>
                Send {formatCount(total)} again
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function Counted({ total, maxPerSecond }: { total: number; maxPerSecond: number }) {
  if (total === 0) {
    return (
      <Alert color="gray" role="status" icon={<IconHistory size={18} />} title="No delivery matches">
        Choose other states, kinds or times, and count again.
      </Alert>
    );
  }
  const seconds = Math.ceil(total / (maxPerSecond || DEFAULT_PER_SECOND));
  return (
    <Alert
      color="orange"
      role="status"
      icon={<IconHistory size={18} />}
      title={`${formatCount(total)} ${total === 1 ? 'delivery matches' : 'deliveries match'}`}
    >
      Each is sent again to where it went, with the same webhook-id, over at least{' '}
      {seconds === 1 ? 'a second' : `${formatCount(seconds)} seconds`}. Receivers that do not know repeats will handle
      them twice.
    </Alert>
  );
}

function replayFilter({ status, eventTypes, destinationId, from, to }: Values): ReplayFilter {
  // By the id alone: a destination that is not in the list, or not yet, must not become all of them.
  const isConnector = destinationId?.startsWith('con_') ?? false;
  return {
    status: status.length > 0 ? (status as NonNullable<ReplayFilter['status']>) : null,
    eventTypes: eventTypes.length > 0 ? (eventTypes as NonNullable<ReplayFilter['eventTypes']>) : null,
    webhookId: isConnector ? null : destinationId,
    connectorId: isConnector ? destinationId : null,
    from: instant(from),
    to: instant(to),
  };
}

/** A time of the reader's clock, as the field gives it. */
function instant(local: string): string | null {
  return local === '' ? null : new Date(local).toISOString();
}

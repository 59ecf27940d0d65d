import { Button, Group, Modal, MultiSelect, NumberInput, Select, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { CreateReplayDocument, type ReplayFilter, type ReplayRowFragment } from '../../../generated/console/replays.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { useProject } from '../../parts/current-project.tsx';
import type { Destination } from '../../parts/destinations.ts';
import { EventTypesField } from '../../parts/event-types-field.tsx';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';
import { formatEnum } from '../../parts/format.ts';
import type { FilterValues } from '../../parts/list-filters.ts';
import { toLocalTime, toUtc } from '../../parts/local-time.ts';
import { ForRole } from '../../parts/role.tsx';
import { Counted, countDeliveries } from './counted.tsx';

/** Deliveries in progress can’t be replayed. */
const STATUSES = ['PENDING', 'SUCCEEDED', 'FAILED', 'SKIPPED'];

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

/** Replays deliveries: the user selects them, sees how many match, and confirms. */
export function ReplayDialog(props: {
  /** The page’s filters, which are the dialog’s initial values. */
  filters: FilterValues;
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
  const { status = [], eventType = [], destination = [], from = [], to = [] } = filters;
  const form = useForm<Values>({
    initialValues: {
      status: status.filter((each) => STATUSES.includes(each)),
      eventTypes: [...eventType],
      destinationId: destination[0] ?? null,
      from: toLocalTime(from[0] ?? ''),
      to: toLocalTime(to[0] ?? ''),
      maxPerSecond: DEFAULT_PER_SECOND,
    },
    // The previous count no longer applies.
    onValuesChange: () => setTotal(undefined),
  });
  useServerErrors(form, problem);
  const inputOf = (values: Values) => {
    const filter = replayFilter(values);
    const selection = Object.values(filter).some((value) => value !== undefined) ? { filter } : { all: true };
    return {
      projectId: project.id,
      ...selection,
      maxPerSecond: Number(values.maxPerSecond) || DEFAULT_PER_SECOND,
    };
  };
  const count = form.onSubmit(async (values) => {
    const result = await counting.submit({ input: { ...inputOf(values), dryRun: true } });
    if (result?.createReplay) setTotal(result.createReplay.total);
  });
  async function start() {
    const result = await starting.submit({ input: inputOf(form.getValues()) });
    if (result?.createReplay?.replay) onStarted(result.createReplay.replay);
  }
  return (
    <Modal opened onClose={onClose} title="Replay deliveries" size="lg">
      <ForRole lowest="DEVELOPER">
        <form onSubmit={count}>
          <Stack gap="md">
            <FormProblem form={form} problem={problem} />
            <MultiSelect
              label="Status"
              description="Leave empty for all. Deliveries in progress can’t be replayed."
              data={STATUSES.map((value) => ({ value, label: formatEnum(value) }))}
              placeholder={form.getValues().status.length === 0 ? 'All statuses' : ''}
              clearable
              {...form.getInputProps('status')}
            />
            <EventTypesField label="Event types" {...form.getInputProps('eventTypes')} />
            <Select
              label="Destination"
              placeholder="All destinations"
              data={[...destinations.values()].map(({ id, name }) => ({ value: id, label: name }))}
              clearable
              searchable
              {...form.getInputProps('destinationId')}
            />
            <SimpleGrid cols={{ base: 1, sm: 3 }} style={{ alignItems: 'end' }}>
              <TextInput type="datetime-local" label="Created from" {...form.getInputProps('from')} />
              <TextInput type="datetime-local" label="Created before" {...form.getInputProps('to')} />
              <NumberInput
                label="Deliveries per second"
                min={1}
                max={MAX_PER_SECOND}
                allowDecimal={false}
                {...form.getInputProps('maxPerSecond')}
              />
            </SimpleGrid>
            {total !== undefined && (
              <Counted
                total={total}
                maxPerSecond={Number(form.getValues().maxPerSecond) || DEFAULT_PER_SECOND}
                none="Change the filters, then count again."
              />
            )}
            <Group justify="flex-end">
              <Button variant="default" onClick={onClose}>
                Close
              </Button>
              {total === undefined || total === 0 ? (
                <Button type="submit" loading={counting.isBusy}>
                  Count deliveries
                </Button>
              ) : (
                <Button loading={starting.isBusy} onClick={start}>
                  Replay {countDeliveries(total)}
                </Button>
              )}
            </Group>
          </Stack>
        </form>
      </ForRole>
    </Modal>
  );
}

function replayFilter({ status, eventTypes, destinationId, from, to }: Values): ReplayFilter {
  // Uses the ID's prefix instead of the list, because a destination that isn't loaded must not turn into “all
  // destinations”.
  const isConnector = destinationId?.startsWith('con_') ?? false;
  return {
    status: status.length > 0 ? (status as NonNullable<ReplayFilter['status']>) : null,
    eventTypes: eventTypes.length > 0 ? (eventTypes as NonNullable<ReplayFilter['eventTypes']>) : null,
    webhookId: isConnector ? null : destinationId,
    connectorId: isConnector ? destinationId : null,
    from: toUtc(from) || null,
    to: toUtc(to) || null,
  };
}

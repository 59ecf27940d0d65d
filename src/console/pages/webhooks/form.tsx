import { Button, Group, Modal, NumberInput, Select, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import {
  CreateWebhookDocument,
  type EventTypeFilter,
  UpdateWebhookDocument,
  type WebhookOrdering,
} from '../../../generated/console/webhooks.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { changedFields } from '../../parts/changed-fields.ts';
import { useProject } from '../../parts/current-project.tsx';
import { DestinationFields, DestinationName } from '../../parts/destination-fields.tsx';
import { checkFilter, destinationInput, destinationValues } from '../../parts/destination-values.ts';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';
import { newHeader } from '../../parts/header-values.ts';
import { NeededAgainAlert, neededAgainErrors } from '../../parts/needed-again.tsx';
import { ForRole } from '../../parts/role.tsx';
import { CertificateFields } from './certificate-fields.tsx';
import { CredentialsFields } from './credentials-fields.tsx';
import { credentialsInput, credentialsValues, secretsNeededAgain } from './credentials-values.ts';
import { RETRY_SCHEDULES } from './retry-schedules.ts';
import type { WebhookRow } from './rows.ts';

const ORDERINGS: readonly { value: WebhookOrdering; label: string }[] = [
  { value: 'NONE', label: 'None: deliver as soon as possible' },
  { value: 'PAYMENT', label: 'By payment: one event at a time' },
];
const MAX_ESCAPE_ATTEMPTS = 100;
const MAX_TIMEOUT_SECONDS = 30;

/** The host in a URL that may not be complete yet. */
const hostOf = (url: string) => (URL.canParse(url) ? new URL(url).host : '');

/** The form that creates or changes a webhook. For a new webhook, `onSaved` gets its secret. */
export function WebhookForm(props: {
  webhook?: WebhookRow;
  onClose(): void;
  onSaved(secret: string | undefined): void;
}) {
  const { webhook, onClose, onSaved } = props;
  const project = useProject();
  const before = { url: webhook?.url ?? '', ...credentialsValues(webhook) };
  const form = useForm({
    initialValues: {
      ...before,
      description: webhook?.description ?? '',
      ...destinationValues(webhook),
      ordering: webhook?.ordering ?? 'NONE',
      orderingEscapeAfterAttempts: webhook?.orderingEscapeAfterAttempts ?? ('' as number | ''),
      payloadVersion: webhook?.payloadVersion ?? ('' as number | ''),
      timeoutSeconds: webhook?.timeoutSeconds ?? ('' as number | ''),
      retrySchedule: webhook?.retrySchedule ?? 'STANDARD',
    },
    validate: (values) => {
      const needed = webhook ? secretsNeededAgain(values, before) : [];
      return { ...neededAgainErrors(needed), filter: checkFilter(values.filter) };
    },
  });
  const neededAgain = webhook ? secretsNeededAgain(form.values, before) : [];
  const creation = useSubmit(CreateWebhookDocument);
  const change = useSubmit(UpdateWebhookDocument);
  const { problem, isBusy } = webhook ? change : creation;
  useServerErrors(form, problem);
  function inputOf({ url, description, ordering, retrySchedule, ...rest }: typeof form.values) {
    const { orderingEscapeAfterAttempts, payloadVersion, timeoutSeconds } = rest;
    return {
      url,
      description,
      ordering,
      retrySchedule,
      ...destinationInput<EventTypeFilter>(rest),
      ...credentialsInput(rest, before),
      // An empty field keeps its stored value or, for a new webhook, gets the default.
      ...(orderingEscapeAfterAttempts !== '' && { orderingEscapeAfterAttempts }),
      ...(payloadVersion !== '' && { payloadVersion }),
      ...(timeoutSeconds !== '' && { timeoutSeconds }),
    };
  }
  const save = form.onSubmit(async (entered) => {
    const values = inputOf(entered);
    if (webhook) {
      const changes = changedFields(values, inputOf(form.getInitialValues()));
      if (await change.submit({ input: { id: webhook.id, ...changes } })) onSaved(undefined);
      return;
    }
    const data = await creation.submit({ input: { projectId: project.id, ...values } });
    if (data?.createWebhook) onSaved(data.createWebhook.secret);
  });
  return (
    <Modal opened onClose={onClose} title={webhook ? 'Edit webhook' : 'New webhook'} size="lg">
      <ForRole lowest="DEVELOPER">
        <form onSubmit={save}>
          <Stack gap="md">
            <FormProblem form={form} problem={problem} />
            <TextInput
              label="URL"
              description="HTTPS URL that receives events. It must return a 2xx status before the timeout."
              placeholder="https://api.example.com/hooks/tollgate"
              required
              data-autofocus
              spellCheck={false}
              {...form.getInputProps('url')}
            />
            <DestinationName form={form} fallback={hostOf(form.getValues().url)} />
            <TextInput label="Description" {...form.getInputProps('description')} />
            <NeededAgainAlert needed={neededAgain} />
            <CredentialsFields form={form} onAddHeader={() => form.insertListItem('headers', newHeader())} />
            <CertificateFields form={form} />
            <DestinationFields form={form} />
            <SimpleGrid cols={{ base: 1, xs: 2 }}>
              <Select
                label="Retry schedule"
                description="How many times, and for how long, failed deliveries are retried."
                data={RETRY_SCHEDULES}
                allowDeselect={false}
                {...form.getInputProps('retrySchedule')}
              />
              <NumberInput
                label="Timeout (seconds)"
                description="How long your server may take to respond."
                placeholder="15"
                min={1}
                max={MAX_TIMEOUT_SECONDS}
                clampBehavior="none"
                allowDecimal={false}
                {...form.getInputProps('timeoutSeconds')}
              />
            </SimpleGrid>
            <SimpleGrid cols={{ base: 1, xs: 2 }}>
              <Select
                label="Ordering"
                description="Choose whether events for the same payment are delivered in order."
                data={ORDERINGS}
                allowDeselect={false}
                {...form.getInputProps('ordering')}
              />
              {form.getValues().ordering === 'PAYMENT' && (
                <NumberInput
                  label="Failed attempts before skipping ahead"
                  description="After this many failures, later events for the payment are sent anyway."
                  placeholder="4"
                  min={1}
                  max={MAX_ESCAPE_ATTEMPTS}
                  clampBehavior="none"
                  allowDecimal={false}
                  {...form.getInputProps('orderingEscapeAfterAttempts')}
                />
              )}
              <NumberInput
                label="Payload version"
                description="The version stays the same until you change it."
                placeholder="Latest"
                min={1}
                clampBehavior="none"
                allowDecimal={false}
                {...form.getInputProps('payloadVersion')}
              />
            </SimpleGrid>
            <Group justify="flex-end">
              <Button variant="default" onClick={onClose}>
                Cancel
              </Button>
              <Button type="submit" loading={isBusy}>
                {webhook ? 'Save changes' : 'Create webhook'}
              </Button>
            </Group>
          </Stack>
        </form>
      </ForRole>
    </Modal>
  );
}

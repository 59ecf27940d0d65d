import { Button, Group, Modal, NumberInput, Select, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import {
  CreateWebhookDocument,
  type EventTypeFilter,
  UpdateWebhookDocument,
  type WebhookOrdering,
} from '../../../generated/console/webhooks.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { useProject } from '../../parts/current-project.tsx';
import { DestinationFields } from '../../parts/destination-fields.tsx';
import { checkFilter, destinationInput, destinationValues } from '../../parts/destination-values.ts';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';
import type { WebhookRow } from './rows.ts';

const ORDERINGS: readonly { value: WebhookOrdering; label: string }[] = [
  { value: 'NONE', label: 'None: deliver as soon as possible' },
  { value: 'PAYMENT', label: 'By payment: one event at a time' },
];
const MAX_ESCAPE_ATTEMPTS = 100;

/** The form that creates or changes a webhook. For a new webhook, `onSaved` gets its secret. */
export function WebhookForm(props: {
  webhook?: WebhookRow;
  onClose(): void;
  onSaved(secret: string | undefined): void;
}) {
  const { webhook, onClose, onSaved } = props;
  const project = useProject();
  const form = useForm({
    initialValues: {
      url: webhook?.url ?? '',
      description: webhook?.description ?? '',
      ...destinationValues(webhook),
      ordering: webhook?.ordering ?? 'NONE',
      orderingEscapeAfterAttempts: webhook?.orderingEscapeAfterAttempts ?? ('' as number | ''),
      payloadVersion: webhook?.payloadVersion ?? ('' as number | ''),
    },
    validate: { filter: checkFilter },
  });
  const creation = useSubmit(CreateWebhookDocument);
  const change = useSubmit(UpdateWebhookDocument);
  const { problem, isBusy } = webhook ? change : creation;
  useServerErrors(form, problem);
  const save = form.onSubmit(async ({ url, description, ordering, ...rest }) => {
    const { orderingEscapeAfterAttempts, payloadVersion } = rest;
    const values = {
      ...{ url, description, ordering, ...destinationInput<EventTypeFilter>(rest) },
      // An empty field keeps its stored value or, for a new webhook, gets the default.
      ...(orderingEscapeAfterAttempts !== '' && { orderingEscapeAfterAttempts }),
      ...(payloadVersion !== '' && { payloadVersion }),
    };
    if (webhook) {
      if (await change.submit({ input: { id: webhook.id, ...values } })) onSaved(undefined);
      return;
    }
    const data = await creation.submit({ input: { projectId: project.id, ...values } });
    if (data?.createWebhook) onSaved(data.createWebhook.secret);
  });
  return (
    <Modal opened onClose={onClose} title={webhook ? 'Edit webhook' : 'New webhook'} size="lg">
      <form onSubmit={save}>
        <Stack gap="md">
          <FormProblem form={form} problem={problem} />
          <TextInput
            label="URL"
            description="HTTPS URL that receives events. It must return a 2xx status within 15 seconds."
            placeholder="https://api.example.com/hooks/tollgate"
            required
            data-autofocus
            spellCheck={false}
            {...form.getInputProps('url')}
          />
          <TextInput label="Description" {...form.getInputProps('description')} />
          <DestinationFields form={form} />
          <Group grow align="flex-start">
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
              description="Pinned; you choose when to upgrade."
              placeholder="Latest"
              min={1}
              clampBehavior="none"
              allowDecimal={false}
              {...form.getInputProps('payloadVersion')}
            />
          </Group>
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
    </Modal>
  );
}

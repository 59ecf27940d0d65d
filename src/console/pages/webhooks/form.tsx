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
import { FormProblem, useServerErrors } from '../../parts/form.tsx';
import { checkFilter, subscriptionInput, subscriptionValues } from '../../parts/subscription.ts';
import { SubscriptionFields } from '../../parts/subscription-fields.tsx';
import type { WebhookRow } from './rows.ts';

const ORDERINGS: readonly { value: WebhookOrdering; label: string }[] = [
  { value: 'NONE', label: 'None: each as soon as it can be' },
  { value: 'PAYMENT', label: 'By payment: one after the other' },
];
const MAX_ESCAPE_ATTEMPTS = 100;

/** Creates a webhook, whose secret `onSaved` is given, or changes one. */
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
      ...subscriptionValues(webhook),
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
      ...{ url, description, ordering, ...subscriptionInput<EventTypeFilter>(rest) },
      // What is left empty stays as it is, or takes the default.
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
            description="Where events are sent, https. Answer with any 2xx within 15 seconds."
            placeholder="https://api.example.com/hooks/tollgate"
            required
            data-autofocus
            spellCheck={false}
            {...form.getInputProps('url')}
          />
          <TextInput label="Description" {...form.getInputProps('description')} />
          <SubscriptionFields form={form} />
          <Group grow align="flex-start">
            <Select
              label="Order"
              description="Events of one payment can wait for each other."
              data={ORDERINGS}
              allowDeselect={false}
              {...form.getInputProps('ordering')}
            />
            {form.getValues().ordering === 'PAYMENT' && (
              <NumberInput
                label="Go past it after attempts"
                description="Failed attempts that hold up what is behind."
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
              description="Stays when a newer one comes out."
              placeholder="The newest"
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
              {webhook ? 'Save' : 'Create webhook'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

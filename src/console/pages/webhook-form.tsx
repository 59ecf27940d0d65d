import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import {
  CreateWebhookDocument,
  type EventTypeFilter,
  UpdateWebhookDocument,
} from '../../generated/console/webhooks.ts';
import { useSubmit } from '../api/use-submit.ts';
import { useProject } from '../layout/current-project.tsx';
import { FormProblem, useServerErrors } from '../parts/form.tsx';
import { checkFilter, subscriptionInput, subscriptionValues } from '../parts/subscription.ts';
import { SubscriptionFields } from '../parts/subscription-fields.tsx';
import type { WebhookRow } from './webhooks.tsx';

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
    },
    validate: { filter: checkFilter },
  });
  const creation = useSubmit(CreateWebhookDocument);
  const change = useSubmit(UpdateWebhookDocument);
  const { problem, isBusy } = webhook ? change : creation;
  useServerErrors(form, problem);
  const save = form.onSubmit(async ({ url, description, ...subscription }) => {
    const values = { url, description, ...subscriptionInput<EventTypeFilter>(subscription) };
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

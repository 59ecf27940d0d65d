import { Button, Group, Modal, Select, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { type ApiKeyScope, CreateApiKeyDocument } from '../../../generated/console/api-keys.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { useProject } from '../../parts/current-project.tsx';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';
import { expiryOf, LIFETIMES } from './expiry.ts';
import { ScopesField } from './scopes.tsx';

const DEFAULT_SCOPES: ApiKeyScope[] = ['READ', 'DELIVERIES', 'WRITE'];

export function CreateApiKeyDialog({ onClose, onCreated }: { onClose(): void; onCreated(key: string): void }) {
  const project = useProject();
  const form = useForm({ initialValues: { name: '', scopes: DEFAULT_SCOPES, expiresAt: '', lastDay: '' } });
  const { submit, problem, isBusy } = useSubmit(CreateApiKeyDocument);
  useServerErrors(form, problem);
  const create = form.onSubmit(async ({ name, scopes, expiresAt, lastDay }) => {
    const input = { projectId: project.id, name, scopes, expiresAt: expiryOf(expiresAt, lastDay) };
    const data = await submit({ input });
    if (data?.createApiKey) onCreated(data.createApiKey.key);
  });
  return (
    <Modal opened onClose={onClose} title="New API key">
      <form onSubmit={create}>
        <Stack gap="md">
          <FormProblem form={form} problem={problem} />
          <TextInput
            label="Name"
            description="Shown in the audit log."
            placeholder="Deployment"
            required
            data-autofocus
            {...form.getInputProps('name')}
          />
          <ScopesField {...form.getInputProps('scopes')} />
          <Select label="Expires" data={LIFETIMES} allowDeselect={false} {...form.getInputProps('expiresAt')} />
          {form.values.expiresAt === 'date' && (
            <TextInput
              type="date"
              label="Last day"
              description="The key works until the end of this day, in your time zone."
              required
              {...form.getInputProps('lastDay')}
            />
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isBusy}>
              Create key
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

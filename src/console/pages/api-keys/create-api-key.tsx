import { Button, Group, Modal, Select, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { CreateApiKeyDocument, type KeyEnvironment } from '../../../generated/console/api-keys.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { useProject } from '../../parts/current-project.tsx';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';

export function CreateApiKeyDialog({ onClose, onCreated }: { onClose(): void; onCreated(key: string): void }) {
  const project = useProject();
  const form = useForm<{ name: string; environment: KeyEnvironment | null }>({
    initialValues: { name: '', environment: null },
  });
  const { submit, problem, isBusy } = useSubmit(CreateApiKeyDocument);
  useServerErrors(form, problem);
  const create = form.onSubmit(async ({ name, environment }) => {
    const data = await submit({ input: { projectId: project.id, name, ...(environment && { environment }) } });
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
          <Select
            label="Environment"
            placeholder="Default for this deployment"
            clearable
            data={[
              { value: 'LIVE', label: 'Live' },
              { value: 'TEST', label: 'Test' },
            ]}
            {...form.getInputProps('environment')}
          />
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

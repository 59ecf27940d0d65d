import { Button, Group, Modal, Select, Stack, TagsInput, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { type ApiKeyScope, CreateApiKeyDocument } from '../../../generated/console/api-keys.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { useProject } from '../../parts/current-project.tsx';
import { useFormDraft } from '../../parts/drafts.ts';
import { FormProblem, listError, useServerErrors } from '../../parts/form.tsx';
import { KEY_DRAFT } from './draft.ts';
import { expiryOf, LIFETIMES } from './expiry.ts';
import { ScopesField } from './scopes.tsx';

const DEFAULT_SCOPES: ApiKeyScope[] = ['READ', 'DELIVERIES', 'WRITE'];

export function CreateApiKeyDialog({ onClose, onCreated }: { onClose(): void; onCreated(key: string): void }) {
  const project = useProject();
  const form = useForm({
    initialValues: { name: '', scopes: DEFAULT_SCOPES, allowedAddresses: [] as string[], expiresAt: '', lastDay: '' },
  });
  const { submit, problem, isBusy } = useSubmit(CreateApiKeyDocument);
  useServerErrors(form, problem);
  useFormDraft(KEY_DRAFT, form);
  const create = form.onSubmit(async ({ name, scopes, allowedAddresses, expiresAt, lastDay }) => {
    const allowed = allowedAddresses.length > 0 ? { allowedAddresses } : {};
    const input = { projectId: project.id, name, scopes, ...allowed, expiresAt: expiryOf(expiresAt, lastDay) };
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
          <TagsInput
            label="Allowed addresses"
            description="IP addresses or CIDR blocks, such as 203.0.113.0/24. Leave this empty to allow every address."
            splitChars={[',', ' ']}
            maxTags={20}
            acceptValueOnBlur
            {...form.getInputProps('allowedAddresses')}
            error={listError(form, 'allowedAddresses')}
          />
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

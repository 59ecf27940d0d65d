import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useLocation } from 'wouter';
import { CreateProjectDocument } from '../../../generated/console/projects.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';

/** The form that creates a project and opens it. */
export function CreateProjectDialog({ onClose }: { onClose(): void }) {
  const form = useForm({ initialValues: { name: '', walletAddress: '' } });
  const { submit, problem, isBusy } = useSubmit(CreateProjectDocument);
  const [, go] = useLocation();
  useServerErrors(form, problem);
  const create = form.onSubmit(async (input) => {
    const data = await submit({ input });
    if (!data?.createProject) return;
    onClose();
    go(`/projects/${data.createProject.project.id}`);
  });
  return (
    <Modal opened onClose={onClose} title="New project">
      <form onSubmit={create}>
        <Stack gap="md">
          <FormProblem form={form} problem={problem} />
          <TextInput label="Name" placeholder="Weather API" required data-autofocus {...form.getInputProps('name')} />
          <TextInput
            label="Wallet address"
            description="EVM address that receives payments. Buyers pay it directly; Tollgate never holds your money."
            placeholder="0x…"
            required
            spellCheck={false}
            autoComplete="off"
            {...form.getInputProps('walletAddress')}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isBusy}>
              Create project
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

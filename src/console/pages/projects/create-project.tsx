import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useLocation } from 'wouter';
import { CreateProjectDocument } from '../../../generated/console/projects.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';
import { type Mode, ModeField, NetworksField, useModes } from '../../parts/network-fields.tsx';

type Values = { name: string; walletAddress: string; mode: Mode; networks: string[] };

/** The form that creates a project and opens it. */
export function CreateProjectDialog({ onClose }: { onClose(): void }) {
  const form = useForm<Values>({ initialValues: { name: '', walletAddress: '', mode: 'LIVE', networks: [] } });
  const modes = useModes();
  const chosen = form.getValues().mode;
  const mode = modes.includes(chosen) ? chosen : modes[0];
  const { submit, problem, isBusy } = useSubmit(CreateProjectDocument);
  const [, go] = useLocation();
  useServerErrors(form, problem);
  const create = form.onSubmit(async (input) => {
    const data = await submit({ input: { ...input, mode } });
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
          {modes.length > 1 && <ModeField form={form} />}
          <NetworksField form={form} mode={mode} />
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

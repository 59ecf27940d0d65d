import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useLocation } from 'wouter';
import { CopyProjectDocument } from '../../../generated/console/networks.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';
import { NetworksField } from '../../parts/network-fields.tsx';

type Original = { id: string; name: string };

/** The form that makes a live copy of a test project and opens it. */
export function LiveCopyDialog({ settings: { id, name }, onClose }: { settings: Original; onClose(): void }) {
  // The wallet of a test project is often a throwaway, so the user enters a new one.
  const form = useForm({
    initialValues: { name: `${name} (live)`, walletAddress: '', networks: [] as string[] },
  });
  const { submit, problem, isBusy } = useSubmit(CopyProjectDocument);
  const [, go] = useLocation();
  useServerErrors(form, problem);
  const copy = form.onSubmit(async (values) => {
    const project = (await submit({ input: { projectId: id, mode: 'LIVE', ...values } }))?.copyProject?.project;
    if (project) go(`/projects/${project.id}`);
  });
  return (
    <Modal opened onClose={onClose} title="Make a live copy">
      <form onSubmit={copy}>
        <Stack gap="md">
          <FormProblem form={form} problem={problem} />
          <TextInput label="Name" required data-autofocus {...form.getInputProps('name')} />
          <TextInput
            label="Wallet address"
            description="EVM address that receives real money. Payments to the wrong address can’t be recovered."
            placeholder="0x…"
            required
            spellCheck={false}
            autoComplete="off"
            {...form.getInputProps('walletAddress')}
          />
          <NetworksField form={form} mode="LIVE" />
          <Text size="sm" c="dimmed">
            Secrets and API keys aren’t copied. Webhooks and connectors start disabled: set their secrets, then enable
            them. Buyers can pay for endpoints with real money right away, except for endpoints that need upstream
            headers.
          </Text>
          <Text size="sm" c="dimmed">
            Anyone can get test money. Until you disable its endpoints, this project sells the same APIs for test money,
            unless you accept only your own wallets under Buyer access.
          </Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isBusy}>
              Make a live copy
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

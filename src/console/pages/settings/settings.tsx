import { Button, Group, PasswordInput, Skeleton, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useQuery } from 'urql';
import { useLocation } from 'wouter';
import {
  DeleteProjectDocument,
  ProjectSettingsDocument,
  type ProjectSettingsQuery,
  UpdateProjectDocument,
} from '../../../generated/console/settings.ts';
import { toProblem } from '../../api/problem.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { ConfirmDialog } from '../../parts/confirm.tsx';
import { Copy } from '../../parts/copy-button.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { type PayeeChange, PayeeDialog, payeeChanges } from './payee-dialog.tsx';

type Settings = NonNullable<ProjectSettingsQuery['project']>;

export function SettingsPage() {
  const { id } = useProject();
  const [{ data, error }, reload] = useQuery({ query: ProjectSettingsDocument, variables: { id } });
  return (
    <Page title="Settings" lead="The project’s name, wallet, gateway host, and upstream secret.">
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      {!data?.project && !error && <Skeleton height={240} />}
      {data?.project && (
        <>
          <ProjectForm key={data.project.id} settings={data.project} />
          {data.project.upstreamSecret && <UpstreamSecret secret={data.project.upstreamSecret} />}
          <DangerZone settings={data.project} />
        </>
      )}
    </Page>
  );
}

function ProjectForm({ settings }: { settings: Settings }) {
  const form = useForm({
    initialValues: valuesOf(settings),
  });
  const [toConfirm, setToConfirm] = useState<PayeeChange[]>();
  const { submit, problem, isBusy } = useSubmit(UpdateProjectDocument);
  useServerErrors(form, problem);
  async function save(changes: PayeeChange[]) {
    const { name, milestonesUsd } = form.getValues();
    const payee = Object.fromEntries(changes.map(({ field, after }) => [field, after]));
    const saved = (await submit({ input: { id: settings.id, name, milestonesUsd, ...payee } }))?.updateProject?.project;
    setToConfirm(undefined);
    if (!saved) return;
    // Show what the service stored, which may differ. For example, it adds the checksum to a wallet address.
    const values = valuesOf(saved);
    form.setInitialValues(values);
    form.setValues(values);
    notifications.show({ message: 'Changes saved', color: 'teal' });
  }
  const submitForm = form.onSubmit((values) => {
    const changes = payeeChanges(settings, values);
    if (changes.length > 0) setToConfirm(changes);
    else void save([]);
  });
  return (
    <Panel title="Project">
      <form onSubmit={submitForm}>
        <Stack gap="md" maw={560}>
          <FormProblem form={form} problem={problem} />
          <TextInput label="Name" required {...form.getInputProps('name')} />
          <TextInput
            label="Wallet address"
            description="EVM address that receives payments. Changes apply starting with the next payment."
            required
            spellCheck={false}
            {...form.getInputProps('walletAddress')}
          />
          <TextInput
            label="Gateway host"
            description="Your own domain for the endpoints. Point its DNS record to the gateway."
            placeholder="api.example.com"
            spellCheck={false}
            {...form.getInputProps('gatewayHost')}
          />
          <TagsInput
            label="Customer milestones (USD)"
            description="Records a customer.milestone event when a customer’s total spend reaches one of these amounts."
            {...form.getInputProps('milestonesUsd')}
          />
          <Group>
            <Button type="submit" loading={isBusy} disabled={!form.isDirty()}>
              Save changes
            </Button>
          </Group>
        </Stack>
      </form>
      {toConfirm && (
        <PayeeDialog
          changes={toConfirm}
          isBusy={isBusy}
          onClose={() => setToConfirm(undefined)}
          onConfirm={() => save(toConfirm)}
        />
      )}
    </Panel>
  );
}

function valuesOf({ name, walletAddress, gatewayHost, milestonesUsd }: Omit<Settings, 'id' | 'upstreamSecret'>) {
  return { name, walletAddress, gatewayHost: gatewayHost ?? '', milestonesUsd };
}

function UpstreamSecret({ secret }: { secret: string }) {
  return (
    <Panel title="Upstream secret">
      <Text size="sm" c="dimmed">
        Use this secret in your API to verify the tollgate-signature header on requests from the gateway. The gateway
        documentation has code samples.
      </Text>
      <Group gap={4} maw={560} wrap="nowrap">
        <PasswordInput aria-label="Upstream secret" value={secret} readOnly flex={1} />
        <Copy value={secret} what="upstream secret" />
      </Group>
    </Panel>
  );
}

function DangerZone({ settings: { id, name } }: { settings: Settings }) {
  const [isOpen, dialog] = useDisclosure();
  const [, go] = useLocation();
  const { submit, problem, isBusy } = useSubmit(DeleteProjectDocument);
  return (
    <Panel title="Delete project">
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          Deletes its endpoints, API keys, webhooks, connectors, and history.
        </Text>
        <Button color="red" variant="light" onClick={dialog.open}>
          Delete project
        </Button>
      </Group>
      <ConfirmDialog
        isOpen={isOpen}
        title="Delete project"
        action="Delete permanently"
        typed={[name]}
        isBusy={isBusy}
        problem={problem}
        onClose={dialog.close}
        onConfirm={async () => {
          if (await submit({ input: { id } })) go('/');
        }}
      >
        Your endpoints will return 404 immediately. This can’t be undone.
      </ConfirmDialog>
    </Panel>
  );
}

import { Button, Group, Select, Skeleton, Stack, TagsInput, Text, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
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
import { changedFields } from '../../parts/changed-fields.ts';
import { ConfirmDialog } from '../../parts/confirm.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { useFormDraft } from '../../parts/drafts.ts';
import { FormProblem, listError, useServerErrors } from '../../parts/form.tsx';
import { Page, Panel } from '../../parts/page.tsx';
import { type PayeeChange, PayeeDialog, payeeChanges } from '../../parts/payee-dialog.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { ForRole, useRoleObstacle } from '../../parts/role.tsx';
import { showDone } from '../../parts/toast.tsx';
import { BuyerAccess } from './buyer-access.tsx';
import { CustomDomain } from './custom-domain.tsx';
import { LiveCopy } from './live-copy.tsx';
import { NetworksPanel } from './networks-panel.tsx';
import { UpstreamHeaders } from './upstream-headers.tsx';
import { UpstreamSecret } from './upstream-secret.tsx';

type Settings = NonNullable<ProjectSettingsQuery['project']>;

export function SettingsPage() {
  const { id } = useProject();
  const [{ data, error }, reload] = useQuery({ query: ProjectSettingsDocument, variables: { id } });
  return (
    <Page title="Settings" lead="The project’s public details, wallet, domain, buyers, networks, and secrets.">
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      {!data?.project && !error && <Skeleton height={240} />}
      {data?.project && (
        <>
          <ForRole lowest="DEVELOPER">
            <ProjectForm key={data.project.id} settings={data.project} />
          </ForRole>
          <ForRole lowest="ADMIN">
            <CustomDomain />
          </ForRole>
          <ForRole lowest="DEVELOPER">
            <UpstreamHeaders key={`${data.project.id} headers`} settings={data.project} />
          </ForRole>
          <ForRole lowest="DEVELOPER">
            <BuyerAccess />
          </ForRole>
          <ForRole lowest="OWNER">
            <NetworksPanel settings={data.project} />
          </ForRole>
          {data.project.upstreamSecret && (
            <UpstreamSecret settings={data.project} secret={data.project.upstreamSecret} />
          )}
          <ForRole lowest="OWNER">
            <LiveCopy settings={data.project} />
          </ForRole>
          <ForRole lowest="OWNER">
            <DangerZone settings={data.project} />
          </ForRole>
        </>
      )}
    </Page>
  );
}

function ProjectForm({ settings }: { settings: Settings }) {
  const form = useForm({
    initialValues: valuesOf(settings),
  });
  const isWalletFixed = useRoleObstacle('OWNER') !== undefined;
  const isRouteFixed = useRoleObstacle('ADMIN') !== undefined;
  const [toConfirm, setToConfirm] = useState<PayeeChange[]>();
  const { submit, problem, isBusy } = useSubmit(UpdateProjectDocument);
  useServerErrors(form, problem);
  useFormDraft('project', form);
  async function save(changes: PayeeChange[]) {
    const payee = Object.fromEntries(changes.map(({ field, after }) => [field, after]));
    const others = changedFields(inputOf(form.getValues()), inputOf(form.getInitialValues()));
    const input = { id: settings.id, ...others, ...payee };
    const saved = (await submit({ input }))?.updateProject?.project;
    setToConfirm(undefined);
    if (!saved) return;
    // Show what the service stored, which may differ. For example, it adds the checksum to a wallet address.
    const values = valuesOf(saved);
    form.setInitialValues(values);
    form.setValues(values);
    showDone('Changes saved');
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
          <Textarea
            label="Description"
            description="What the project offers. Buyers see the name and the description."
            autosize
            minRows={2}
            {...form.getInputProps('description')}
          />
          <TextInput
            label="Icon URL"
            description="An HTTPS URL. Catalogs show the icon to buyers."
            placeholder="https://example.com/icon.png"
            spellCheck={false}
            {...form.getInputProps('iconUrl')}
          />
          <TextInput
            label="Contact"
            description="An email address or an HTTPS URL for buyers who need help."
            placeholder="support@example.com"
            spellCheck={false}
            {...form.getInputProps('contact')}
          />
          <TextInput
            label="Wallet address"
            description="EVM address that receives payments. Changes apply starting with the next payment."
            required
            spellCheck={false}
            disabled={isWalletFixed}
            {...form.getInputProps('walletAddress')}
          />
          <TextInput
            label="Custom domain"
            description="Your own domain for the endpoints. It works once you verify that you own it."
            placeholder="api.example.com"
            spellCheck={false}
            disabled={isRouteFixed}
            {...form.getInputProps('gatewayHost')}
          />
          {settings.defaultHost && (
            <TextInput
              label="Default domain name"
              description={`Buyers can always use ${settings.defaultHost}. If you change the name, the old one stays reserved for your account for 30 days.`}
              required
              spellCheck={false}
              disabled={isRouteFixed}
              {...form.getInputProps('slug')}
            />
          )}
          <TagsInput
            label="Customer milestones (USD)"
            description="Records a customer.milestone event when a customer’s total spend reaches one of these amounts."
            {...form.getInputProps('milestonesUsd')}
            error={listError(form, 'milestonesUsd')}
          />
          <Select
            label="Time zone"
            description="Where days begin and end for daily summaries, revenue, and bookings. If you change it, the current day ends at midnight in the new time zone."
            searchable
            allowDeselect={false}
            data={timeZonesWith(settings.timeZone)}
            {...form.getInputProps('timeZone')}
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

type NotInForm = 'id' | 'upstreamSecret' | 'previousUpstreamSecretExpiresAt' | 'upstreamHeaders' | 'mode' | 'networks';

function valuesOf(settings: Omit<Settings, NotInForm>) {
  const { name, walletAddress, gatewayHost, slug, milestonesUsd, timeZone, description, iconUrl, contact } = settings;
  const shown = { description: description ?? '', iconUrl: iconUrl ?? '', contact: contact ?? '' };
  return { name, walletAddress, gatewayHost: gatewayHost ?? '', slug: slug ?? '', milestonesUsd, timeZone, ...shown };
}

/** What can be changed without a confirmation. */
function inputOf({ name, milestonesUsd, timeZone, description, iconUrl, contact }: ReturnType<typeof valuesOf>) {
  const shown = { description, iconUrl: iconUrl.trim() || null, contact: contact.trim() || null };
  return { name, milestonesUsd, timeZone, ...shown };
}

/** The browser's list has neither `UTC` nor the other names of a time zone, one of which may be the current one. */
function timeZonesWith(current: string): string[] {
  return [...new Set(['UTC', current, ...Intl.supportedValuesOf('timeZone')])];
}

function DangerZone({ settings: { id, name } }: { settings: Settings }) {
  const [isOpen, dialog] = useDisclosure();
  const [, go] = useLocation();
  const { submit, problem, isBusy } = useSubmit(DeleteProjectDocument);
  return (
    <Panel title="Delete project">
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          Deletes the project’s endpoints, API keys, webhooks, connectors, and history.
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

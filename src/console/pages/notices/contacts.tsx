import { Alert, Button, Group, Skeleton, Stack, Switch, TagsInput, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconMailOff } from '@tabler/icons-react';
import { useState } from 'react';
import { useQuery } from 'urql';
import {
  type ContactsRowFragment,
  NoticeContactsDocument,
  UpdateContactsDocument,
} from '../../../generated/console/notices.ts';
import { toProblem } from '../../api/problem.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { changedFields } from '../../parts/changed-fields.ts';
import { useProject } from '../../parts/current-project.tsx';
import { FormProblem, listError, useServerErrors } from '../../parts/form.tsx';
import { Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { ForRole } from '../../parts/role.tsx';
import { SecretDialog } from '../../parts/secret-dialog.tsx';
import { showDone } from '../../parts/toast.tsx';

/** The project's contacts, who receive its notices. */
export function ContactsPanel() {
  const { id } = useProject();
  const [{ data, error }, reload] = useQuery({ query: NoticeContactsDocument, variables: { projectId: id } });
  return (
    <Panel title="Contacts">
      <Text size="sm" c="dimmed">
        Contacts get the first notice immediately and later ones in batches. Masked parts of a URL don’t change when you
        save.
      </Text>
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      {!data?.project && !error && <Skeleton height={200} />}
      {data?.project && (
        <ForRole lowest="DEVELOPER">
          <ContactsForm key={id} projectId={id} contacts={data.project.contacts} />
        </ForRole>
      )}
    </Panel>
  );
}

function ContactsForm({ projectId, contacts }: { projectId: string; contacts: ContactsRowFragment }) {
  const form = useForm({ initialValues: valuesOf(contacts) });
  const [secret, setSecret] = useState<string>();
  const { submit, problem, isBusy } = useSubmit(UpdateContactsDocument);
  useServerErrors(form, problem);
  const save = form.onSubmit(async (values) => {
    const changes = changedFields(inputOf(values), inputOf(form.getInitialValues()));
    const result = (await submit({ input: { projectId, ...changes } }))?.updateContacts;
    if (!result) return;
    const stored = valuesOf(result.contacts);
    form.setInitialValues(stored);
    form.setValues(stored);
    setSecret(result.webhookSecret ?? undefined);
    showDone('Contacts saved');
  });
  return (
    <form onSubmit={save}>
      <Stack gap="md" maw={560}>
        <FormProblem form={form} problem={problem} />
        {!contacts.canSendEmail && (
          <Alert color="orange" icon={<IconMailOff size={18} />} title="Email isn’t set up on this server">
            You can add addresses, but no email is sent until the operator sets up email.
          </Alert>
        )}
        <TagsInput
          label="Email addresses"
          description="Up to 10. Press Enter after each one."
          {...form.getInputProps('emails')}
          error={listError(form, 'emails')}
        />
        <TextInput
          label="Webhook URL"
          description="Your server receives signed requests at this HTTPS URL."
          placeholder="https://example.com/notices"
          spellCheck={false}
          {...form.getInputProps('webhookUrl')}
        />
        <TextInput
          label="Slack URL"
          description="An incoming webhook URL from Slack or a compatible service."
          placeholder="https://hooks.slack.com/services/…"
          spellCheck={false}
          {...form.getInputProps('slackUrl')}
        />
        <Switch
          label="Weekly digest"
          description="Revenue, customers, failures, and slow destinations, every Monday."
          {...form.getInputProps('weeklyDigest', { type: 'checkbox' })}
        />
        <Group>
          <Button type="submit" loading={isBusy} disabled={!form.isDirty()}>
            Save contacts
          </Button>
        </Group>
      </Stack>
      <SecretDialog secret={secret} title="Signing secret" onClose={() => setSecret(undefined)}>
        Use this secret to verify the requests to your webhook.
      </SecretDialog>
    </form>
  );
}

function inputOf({ webhookUrl, slackUrl, ...values }: ReturnType<typeof valuesOf>) {
  return { ...values, webhookUrl: webhookUrl || null, slackUrl: slackUrl || null };
}

function valuesOf({ emails, webhookUrl, slackUrl, weeklyDigest }: ContactsRowFragment) {
  return { emails: [...emails], webhookUrl: webhookUrl ?? '', slackUrl: slackUrl ?? '', weeklyDigest };
}

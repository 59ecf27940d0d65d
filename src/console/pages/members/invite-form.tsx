import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { InviteMemberDocument } from '../../../generated/console/members.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { useProject } from '../../parts/current-project.tsx';
import { useFormDraft } from '../../parts/drafts.ts';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';
import { showDone } from '../../parts/toast.tsx';
import { MAX_PEOPLE, MEMBER_ROLES, type MemberRole } from './roles.ts';

/** Invites a person by email address. */
export function InviteForm({ onInvited, isFull }: { onInvited(): void; isFull: boolean }) {
  const { id: projectId } = useProject();
  const form = useForm<{ email: string; role: MemberRole }>({ initialValues: { email: '', role: 'DEVELOPER' } });
  const { submit, problem, isBusy } = useSubmit(InviteMemberDocument);
  useServerErrors(form, problem);
  useFormDraft('invitation', form);
  const invite = form.onSubmit(async (values) => {
    if (!(await submit({ input: { projectId, ...values } }))) return;
    form.reset();
    showDone(`${values.email} has been invited`);
    onInvited();
  });
  return (
    <form onSubmit={invite}>
      <Stack gap="md">
        <FormProblem form={form} problem={problem} />
        <Group align="flex-start">
          <TextInput label="Email address" type="email" required w={280} {...form.getInputProps('email')} />
          <NativeSelect label="Role" data={MEMBER_ROLES} {...form.getInputProps('role')} />
        </Group>
        <Text size="sm" c="dimmed">
          Viewers can read everything except secrets. Developers can also change endpoints, webhooks, and connectors.
          Admins can also manage API keys, custom domains, and members. Only the owner can change the wallet or delete
          the project.
        </Text>
        <Group>
          <Button
            type="submit"
            loading={isBusy}
            disabled={isFull}
            aria-describedby={isFull ? 'invite-limit' : undefined}
          >
            Invite
          </Button>
          {isFull && (
            <Text id="invite-limit" size="sm" c="dimmed">
              A project can have up to {MAX_PEOPLE} members and open invitations. Remove or revoke one first.
            </Text>
          )}
        </Group>
      </Stack>
    </form>
  );
}

import { Alert, Anchor } from '@mantine/core';
import { IconMail } from '@tabler/icons-react';
import { useQuery } from 'urql';
import { Link } from 'wouter';
import { MyInvitationsDocument } from '../../generated/console/members.ts';

/** Tells the signed-in person about invitations that are waiting for a response. */
export function InvitationNotice() {
  const [{ data }] = useQuery({ query: MyInvitationsDocument, requestPolicy: 'cache-and-network' });
  const count = data?.viewer?.invitations.nodes.length ?? 0;
  const offers = data?.viewer?.transfers.nodes.length ?? 0;
  if (count + offers === 0) return null;
  return (
    <Alert color="indigo" icon={<IconMail size={18} />}>
      <Anchor component={Link} href="/invitations">
        {offers > 0 && (offers === 1 ? 'You’ve been offered a project. ' : `You’ve been offered ${offers} projects. `)}
        {count > 0 &&
          (count === 1 ? 'You have an invitation to a project' : `You have invitations to ${count} projects`)}
      </Anchor>
    </Alert>
  );
}

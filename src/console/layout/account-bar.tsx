import { ActionIcon, Badge, Group, Text, Tooltip } from '@mantine/core';
import { IconLogout } from '@tabler/icons-react';
import { Suspense } from 'react';
import { useQuery } from 'urql';
import { ViewerDocument } from '../../generated/console/viewer.ts';
import { ColorSchemeButton } from '../parts/color-scheme-button.tsx';
import { formatEnum } from '../parts/format.ts';
import { lazyPart } from '../parts/lazy-part.ts';

const HelpMenu = lazyPart(() => import('./help-menu.tsx'), 'HelpMenu');

/** The signed-in user, help, and the button to sign out. */
export function AccountBar(props: { subject: string; projectId: string | undefined; onSignOut(): void }) {
  const { subject, projectId, onSignOut } = props;
  const [{ data }] = useQuery({ query: ViewerDocument });
  const tier = data?.viewer?.tier;
  return (
    <Group gap={4} wrap="nowrap" className="account-bar" pt="sm" px={4}>
      <Text fz="sm" truncate flex={1} title={subject}>
        {subject}
      </Text>
      {tier && <Badge size="sm">{formatEnum(tier)}</Badge>}
      <Suspense>
        <HelpMenu projectId={projectId} />
      </Suspense>
      <ColorSchemeButton />
      <Tooltip label="Sign out">
        <ActionIcon variant="subtle" color="gray" aria-label="Sign out" onClick={onSignOut}>
          <IconLogout size={18} />
        </ActionIcon>
      </Tooltip>
    </Group>
  );
}

import { ActionIcon, Badge, Group, Text, Tooltip } from '@mantine/core';
import { IconLogout } from '@tabler/icons-react';
import { useQuery } from 'urql';
import { ViewerDocument } from '../../generated/console/viewer.ts';
import { ColorSchemeButton } from '../parts/color-scheme-button.tsx';
import { formatEnum } from '../parts/format.ts';

/** The signed-in user, and the button to sign out. */
export function AccountBar({ subject, onSignOut }: { subject: string; onSignOut(): void }) {
  const [{ data }] = useQuery({ query: ViewerDocument });
  const tier = data?.viewer?.tier;
  return (
    <Group gap={4} wrap="nowrap" className="account-bar" pt="sm" px={4}>
      <Text fz="sm" truncate flex={1} title={subject}>
        {subject}
      </Text>
      {tier && <Badge size="sm">{formatEnum(tier)}</Badge>}
      <ColorSchemeButton />
      <Tooltip label="Sign out">
        <ActionIcon variant="subtle" color="gray" aria-label="Sign out" onClick={onSignOut}>
          <IconLogout size={18} />
        </ActionIcon>
      </Tooltip>
    </Group>
  );
}

import { Button, Group, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Suspense } from 'react';
import type { ProjectSettingsQuery } from '../../../generated/console/settings.ts';
import { lazyPart } from '../../parts/lazy-part.ts';
import { useModes } from '../../parts/network-fields.tsx';
import { Panel } from '../../parts/page.tsx';

const LiveCopyDialog = lazyPart(() => import('./live-copy-dialog.tsx'), 'LiveCopyDialog');

type Settings = NonNullable<ProjectSettingsQuery['project']>;

/** Shown for test projects if the server supports a live network. */
export function LiveCopy({ settings }: { settings: Settings }) {
  const [isOpen, dialog] = useDisclosure();
  const canGoLive = useModes().includes('LIVE');
  if (settings.mode !== 'TEST' || !canGoLive) return null;
  return (
    <Panel title="Go live">
      <Group justify="space-between">
        <Text size="sm" c="dimmed" flex="1 1 260px">
          Creates a live project with copies of this project’s endpoints, webhooks, connectors, and milestones. This
          project doesn’t change.
        </Text>
        <Button onClick={dialog.open}>Make a live copy</Button>
      </Group>
      <Suspense>{isOpen && <LiveCopyDialog settings={settings} onClose={dialog.close} />}</Suspense>
    </Panel>
  );
}

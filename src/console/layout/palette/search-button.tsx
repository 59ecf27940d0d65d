import { Kbd, Text, UnstyledButton } from '@mantine/core';
import { useOs } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { Suspense, useState } from 'react';
import { lazyPart } from '../../parts/lazy-part.ts';
import { readableKeys, SHORTCUTS } from '../../parts/shortcuts.ts';
import { ShortcutsDialog } from '../../parts/shortcuts-dialog.tsx';
import { useShortcuts } from '../../parts/use-shortcuts.ts';
import { recentPlaces, rememberPlace, useRememberedPlaces } from './recent-places.ts';

const Palette = lazyPart(() => import('./palette.tsx'), 'Palette');

/** Opens the palette, which also has a keyboard shortcut. Remembers the pages that are opened. */
export function SearchButton(props: { projectId: string | undefined; subject: string; onSignOut(): void }) {
  const { projectId, subject, onSignOut } = props;
  const [opened, setOpened] = useState<'palette' | 'shortcuts'>();
  const isMac = useOs() === 'macos';
  const open = () => setOpened('palette');
  const close = () => setOpened(undefined);
  useShortcuts({ search: open });
  useRememberedPlaces(subject);
  return (
    <>
      <UnstyledButton className="switcher" onClick={open} aria-keyshortcuts="Control+K Meta+K /">
        <IconSearch size={16} />
        <Text fz="sm" c="dimmed" flex={1}>
          Search
        </Text>
        <Kbd size="xs" aria-hidden>
          {readableKeys(SHORTCUTS.search.keys[0], isMac)}
        </Kbd>
      </UnstyledButton>
      <Suspense>
        {opened === 'palette' && (
          <Palette
            projectId={projectId}
            places={recentPlaces(subject)}
            remember={(place) => rememberPlace(subject, place)}
            onShortcuts={() => setOpened('shortcuts')}
            onSignOut={onSignOut}
            onClose={() => setOpened((before) => (before === 'palette' ? undefined : before))}
          />
        )}
      </Suspense>
      {opened === 'shortcuts' && <ShortcutsDialog onClose={close} />}
    </>
  );
}

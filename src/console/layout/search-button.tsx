import { Kbd, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure, useOs } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { readableKeys, SHORTCUTS } from '../parts/shortcuts.ts';
import { useShortcuts } from '../parts/use-shortcuts.ts';
import { SearchDialog } from './search-dialog.tsx';

/** Opens the search dialog, which also has a keyboard shortcut. */
export function SearchButton({ projectId }: { projectId: string | undefined }) {
  const [isOpen, { open, close }] = useDisclosure();
  const isMac = useOs() === 'macos';
  useShortcuts({ search: open });
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
      {isOpen && <SearchDialog projectId={projectId} onClose={close} />}
    </>
  );
}

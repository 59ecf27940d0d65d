import { ActionIcon, Menu, Tooltip } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconBook, IconHelp, IconKeyboard } from '@tabler/icons-react';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { docsUrl } from '../parts/docs-link.ts';
import { ShortcutsDialog } from '../parts/shortcuts-dialog.tsx';
import { useShortcuts } from '../parts/use-shortcuts.ts';
import { PAGES_BY_SHORTCUT } from './pages-by-shortcut.ts';

/** A menu with the documentation and the keyboard shortcuts. Also runs the shortcuts that work on every page. */
export function HelpMenu({ projectId }: { projectId: string | undefined }) {
  const [isOpen, { open, close }] = useDisclosure();
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [, go] = useLocation();
  const pages = projectId === undefined ? [] : Object.entries(PAGES_BY_SHORTCUT);
  useShortcuts({
    help: open,
    goToProjects: () => go('/'),
    ...Object.fromEntries(pages.map(([name, path]) => [name, () => go(`/projects/${projectId}${path}`)])),
  });
  return (
    <>
      <Menu position="top-end" onChange={setMenuOpen}>
        <Menu.Target>
          <Tooltip label="Help" disabled={isMenuOpen}>
            <ActionIcon variant="subtle" color="gray" aria-label="Help">
              <IconHelp size={18} />
            </ActionIcon>
          </Tooltip>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item component="a" href={docsUrl('')} target="_blank" leftSection={<IconBook size={16} />}>
            Documentation
          </Menu.Item>
          <Menu.Item leftSection={<IconKeyboard size={16} />} onClick={open}>
            Keyboard shortcuts
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {isOpen && <ShortcutsDialog onClose={close} />}
    </>
  );
}

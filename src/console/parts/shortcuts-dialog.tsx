import { Kbd, Modal, Stack, Switch, Table, Text, Title } from '@mantine/core';
import { useOs } from '@mantine/hooks';
import { Fragment } from 'react';
import { readableKeys, SHORTCUTS, type Shortcut } from './shortcuts.ts';
import { useTypedShortcuts } from './use-shortcuts.ts';

const ALL: readonly Shortcut[] = Object.values(SHORTCUTS);
const GROUPS = [...new Set(ALL.map(({ group }) => group))];

/** All keyboard shortcuts, and the switch for character key shortcuts. */
export function ShortcutsDialog({ onClose }: { onClose(): void }) {
  const isMac = useOs() === 'macos';
  const [isTypedOn, setTypedOn] = useTypedShortcuts();
  return (
    <Modal opened onClose={onClose} title="Keyboard shortcuts" size="lg">
      <Stack gap="md">
        <Switch
          label="Single-key shortcuts"
          description="Turn shortcuts off if they interfere with your screen reader or voice control. Shortcuts with Ctrl or ⌘ keep working."
          checked={isTypedOn}
          onChange={(event) => setTypedOn(event.currentTarget.checked)}
        />
        {GROUPS.map((group) => (
          <section key={group} aria-label={group}>
            <Title order={3}>{group}</Title>
            <Table verticalSpacing={4} horizontalSpacing={0} aria-label={group}>
              <Table.Tbody>
                {ALL.filter((shortcut) => shortcut.group === group).map(({ label, keys }) => (
                  <Table.Tr key={label}>
                    <Table.Td>{label}</Table.Td>
                    <Table.Td ta="right">
                      {keys.map((text, index) => (
                        <Fragment key={text}>
                          {index > 0 && (
                            <Text span size="xs" c="dimmed">
                              {' or '}
                            </Text>
                          )}
                          <Kbd size="xs">{readableKeys(text, isMac)}</Kbd>
                        </Fragment>
                      ))}
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </section>
        ))}
      </Stack>
    </Modal>
  );
}

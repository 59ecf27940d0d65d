import { ActionIcon, Menu, useMantineColorScheme } from '@mantine/core';
import { IconDeviceDesktop, IconMoon, IconSun } from '@tabler/icons-react';

const SCHEMES = [
  { value: 'light', label: 'Light', icon: IconSun },
  { value: 'dark', label: 'Dark', icon: IconMoon },
  { value: 'auto', label: 'System', icon: IconDeviceDesktop },
] as const;

/** Switches between light, dark, and the system's color scheme. The browser remembers the choice. */
export function ColorSchemeButton() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { icon: CurrentIcon, label } = SCHEMES.find(({ value }) => value === colorScheme)!;
  return (
    <Menu position="top-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Theme: ${label}`}>
          <CurrentIcon size={18} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {SCHEMES.map(({ value, label: name, icon: SchemeIcon }) => (
          <Menu.Item key={value} leftSection={<SchemeIcon size={16} />} onClick={() => setColorScheme(value)}>
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

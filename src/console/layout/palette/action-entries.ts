import type { MantineColorScheme } from '@mantine/core';
import type { Role } from '../../parts/role.tsx';
import type { Entry } from './entries.ts';

/** Each of these opens a dialog of a page. */
const OPENERS: readonly { label: string; path: string; lowest: Role; keywords: string }[] = [
  { label: 'Add endpoint', path: '/endpoints?new', lowest: 'DEVELOPER', keywords: 'create new path' },
  { label: 'Import endpoints', path: '/endpoints?import', lowest: 'DEVELOPER', keywords: 'openapi create' },
  { label: 'Add webhook', path: '/webhooks?new', lowest: 'DEVELOPER', keywords: 'create new destination' },
  {
    label: 'Add connector',
    path: '/connectors?new',
    lowest: 'DEVELOPER',
    keywords: 'create new destination integration',
  },
  { label: 'Create API key', path: '/keys?new', lowest: 'ADMIN', keywords: 'add new token' },
  { label: 'Replay deliveries', path: '/deliveries?replay', lowest: 'DEVELOPER', keywords: 'resend failed' },
];

const SCHEMES: readonly { label: string; value: MantineColorScheme }[] = [
  { label: 'Use the light theme', value: 'light' },
  { label: 'Use the dark theme', value: 'dark' },
  { label: 'Use the system’s theme', value: 'auto' },
];

/** Everything that the palette can do, apart from leading to pages. */
export function actionEntries(props: {
  projectId: string | undefined;
  obstacle(lowest: Role): string | undefined;
  onColorScheme(scheme: MantineColorScheme): void;
  onShortcuts(): void;
  onSignOut(): void;
}): Entry[] {
  const { projectId, obstacle, onColorScheme, onShortcuts, onSignOut } = props;
  const action = (label: string, keywords: string, run: () => void): Entry => {
    return { key: label, type: 'Action', label, keywords, run };
  };
  const inProject = OPENERS.map(({ label, path, lowest, keywords }): Entry => {
    const href = `/projects/${projectId}${path}`;
    return { key: href, type: 'Action', label, keywords, href, obstacle: obstacle(lowest) };
  });
  const sendTest: Entry = {
    key: 'testEvent',
    type: 'Action',
    label: 'Send test event…',
    keywords: 'try ping webhook connector',
    step: 'testEvent',
  };
  return [
    ...(projectId === undefined ? [] : [...inProject, { ...sendTest, obstacle: obstacle('DEVELOPER') }]),
    { key: 'project', type: 'Action', label: 'Switch project…', keywords: 'change open other', step: 'project' },
    { key: '/?new', type: 'Action', label: 'Add project', keywords: 'create new', href: '/?new' },
    ...SCHEMES.map(({ label, value }) => action(label, 'switch color mode appearance', () => onColorScheme(value))),
    action('Show keyboard shortcuts', 'help keys', onShortcuts),
    action('Sign out', 'log out logout', onSignOut),
  ];
}

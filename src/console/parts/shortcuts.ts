/**
 * All of the console's keyboard shortcuts. `keys` lists alternatives: `mod+k` is Ctrl K, or ⌘ K on a Mac; `g p` is one
 * key after the other; any other value is the character that is typed, no matter which keys produce it.
 */
export const SHORTCUTS = {
  search: { group: 'Everywhere', label: 'Search', keys: ['mod+k', '/'] },
  help: { group: 'Everywhere', label: 'Show keyboard shortcuts', keys: ['?'] },
  close: { group: 'Everywhere', label: 'Close a dialog, drawer, or menu', keys: ['Escape'] },
  goToProjects: { group: 'Go to', label: 'All projects', keys: ['g h'] },
  goToOverview: { group: 'Go to', label: 'Overview', keys: ['g o'] },
  goToEndpoints: { group: 'Go to', label: 'Endpoints', keys: ['g e'] },
  goToNotices: { group: 'Go to', label: 'Notices', keys: ['g n'] },
  goToMembers: { group: 'Go to', label: 'Members', keys: ['g m'] },
  goToSettings: { group: 'Go to', label: 'Settings', keys: ['g s'] },
  goToPayments: { group: 'Go to', label: 'Payments', keys: ['g p'] },
  goToCustomers: { group: 'Go to', label: 'Customers', keys: ['g c'] },
  goToDeliveries: { group: 'Go to', label: 'Deliveries', keys: ['g d'] },
  goToWebhooks: { group: 'Go to', label: 'Webhooks', keys: ['g w'] },
  goToConnectors: { group: 'Go to', label: 'Connectors', keys: ['g i'] },
  goToEvents: { group: 'Go to', label: 'Events', keys: ['g v'] },
  goToReplays: { group: 'Go to', label: 'Replays', keys: ['g r'] },
  goToKeys: { group: 'Go to', label: 'API keys', keys: ['g k'] },
  goToAuditLog: { group: 'Go to', label: 'Audit log', keys: ['g a'] },
  goToLimits: { group: 'Go to', label: 'Limits & usage', keys: ['g l'] },
  goToRest: { group: 'Go to', label: 'REST reference', keys: ['g t'] },
  goToGraphql: { group: 'Go to', label: 'GraphQL explorer', keys: ['g q'] },
  next: { group: 'In a delivery, payment, or event', label: 'Next item in the list', keys: ['j'] },
  previous: { group: 'In a delivery, payment, or event', label: 'Previous item in the list', keys: ['k'] },
  run: { group: 'In the GraphQL explorer', label: 'Run the operation', keys: ['mod+Enter'] },
  complete: { group: 'In the GraphQL explorer', label: 'Suggest fields and arguments', keys: ['ctrl+Space'] },
  showDocs: { group: 'In the GraphQL explorer', label: 'Show the type at the cursor', keys: ['F12'] },
} as const satisfies Readonly<Record<string, Shortcut>>;

export type Shortcut = { group: string; label: string; keys: readonly string[] };
export type ShortcutName = keyof typeof SHORTCUTS;

/** The parts of a `KeyboardEvent` that identify what was pressed. */
export type KeyPress = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>;

/** The longest time between the two keys of `g p`. */
const SEQUENCE_MILLISECONDS = 1500;

const MODIFIERS: ReadonlySet<string> = new Set(['Shift', 'Control', 'Alt', 'AltGraph', 'Meta', 'CapsLock']);

/**
 * Whether a shortcut consists only of character keys. Users can turn these shortcuts off, because screen readers and
 * voice control use the same keys (WCAG 2.1.4).
 */
export function isTyped(keys: string): boolean {
  return !keys.includes('+') && !/^(Escape|F\d+)$/.test(keys);
}

/** Recognizes shortcuts from key presses, one key at a time. */
export function createKeyReader(shortcuts: Readonly<Record<string, Shortcut>>) {
  const all = Object.entries(shortcuts).flatMap(([name, { keys }]) => keys.map((text) => ({ name, text })));
  let first: { key: string; atMilliseconds: number } | undefined;
  /**
   * Returns the name of the shortcut that this key completes. `withTyped`: whether to include character key shortcuts.
   */
  return (press: KeyPress, nowMilliseconds: number, withTyped: boolean): string | undefined => {
    // Pressing Shift to type a character doesn't count as a key.
    if (MODIFIERS.has(press.key)) return undefined;
    const key = textOf(press);
    const isSecond = first && nowMilliseconds - first.atMilliseconds <= SEQUENCE_MILLISECONDS;
    const pressed = isSecond ? `${first!.key} ${key}` : key;
    const candidates = withTyped ? all : all.filter(({ text }) => !isTyped(text));
    const isFirst = !isSecond && candidates.some(({ text }) => text.startsWith(`${key} `));
    first = isFirst ? { key, atMilliseconds: nowMilliseconds } : undefined;
    return candidates.find(({ text }) => text === pressed)?.name;
  };
}

/** A key as it is written in the table. Shift isn't part of it, because `?` needs Shift only on some keyboards. */
function textOf({ key, ctrlKey, metaKey, altKey }: KeyPress): string {
  const text = key.length === 1 ? key.toLowerCase() : key;
  if (ctrlKey || metaKey) return `mod+${text}`;
  return altKey ? `alt+${text}` : text;
}

/** The keys as people read them: `Ctrl K`, `G then P`. */
export function readableKeys(keys: string, isMac: boolean): string {
  const names: Readonly<Record<string, string>> = { mod: isMac ? '⌘' : 'Ctrl', ctrl: 'Ctrl', Escape: 'Esc' };
  const name = (part: string) => names[part] ?? (part.length === 1 ? part.toUpperCase() : part);
  return keys
    .split(' ')
    .map((press) => press.split('+').map(name).join(' '))
    .join(' then ');
}

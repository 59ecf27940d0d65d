import { useLocalStorage } from '@mantine/hooks';
import { useEffect, useEffectEvent } from 'react';
import { createKeyReader, SHORTCUTS, type Shortcut, type ShortcutName } from './shortcuts.ts';

/** Whether character key shortcuts are on, and a function to change that. The browser remembers the choice. */
export function useTypedShortcuts() {
  return useLocalStorage({ key: 'tollgate.typed-shortcuts', defaultValue: true, getInitialValueInEffect: false });
}

/**
 * Runs shortcuts while the component is shown. Character key shortcuts don't work in fields, and work in a dialog or
 * drawer only with `inDialogs`.
 */
export function useShortcuts(actions: Partial<Record<ShortcutName, () => void>>, { inDialogs = false } = {}): void {
  const [isTypedOn] = useTypedShortcuts();
  const run = useEffectEvent((name: string) => actions[name as ShortcutName]?.());
  const names = Object.keys(actions).join(' ');
  useEffect(() => {
    const own = names.split(' ').map((name) => [name, SHORTCUTS[name as ShortcutName]] as const);
    const read = createKeyReader(Object.fromEntries<Shortcut>(own));
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.repeat) return;
      const isBlocked = isField(event.target) || (!inDialogs && document.querySelector('[aria-modal=true]') !== null);
      const name = read(event, event.timeStamp, isTypedOn && !isBlocked);
      if (!name) return;
      event.preventDefault();
      run(name);
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, [names, inDialogs, isTypedOn]);
}

function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}

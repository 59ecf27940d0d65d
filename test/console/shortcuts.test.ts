import { describe, expect, test } from 'vitest';
import { PAGES_BY_SHORTCUT } from '../../src/console/layout/pages-by-shortcut.ts';
import {
  createKeyReader,
  isTyped,
  type KeyPress,
  readableKeys,
  SHORTCUTS,
  type Shortcut,
} from '../../src/console/parts/shortcuts.ts';

const ALL: readonly (readonly [string, Shortcut])[] = Object.entries(SHORTCUTS);

function press(key: string, held: Partial<KeyPress> = {}): KeyPress {
  return { key, ctrlKey: false, metaKey: false, altKey: false, ...held };
}

describe('keyboard shortcuts', () => {
  test('no two shortcuts have the same keys, and none is a prefix of another', () => {
    const keys = ALL.flatMap(([, shortcut]) => shortcut.keys);
    expect(new Set(keys).size).toBe(keys.length);
    const inDelivery = ['j', 'k'];
    const beginnings = keys.filter((one) => keys.some((other) => other.startsWith(`${one} `)));
    expect(beginnings.filter((one) => !inDelivery.includes(one))).toEqual([]);
  });

  test('every “Go to” shortcut has a page', () => {
    const names = ALL.filter(([, { group }]) => group === 'Go to').map(([name]) => name);
    expect(['goToProjects', ...Object.keys(PAGES_BY_SHORTCUT)].sort()).toEqual(names.sort());
  });

  test('a two-key shortcut works only in the right order and within a short time', () => {
    const read = createKeyReader(SHORTCUTS);
    expect(read(press('g'), 0, true)).toBeUndefined();
    expect(read(press('p'), 1000, true)).toBe('goToPayments');
    expect(read(press('p'), 1100, true)).toBeUndefined();
    expect(read(press('g'), 2000, true)).toBeUndefined();
    expect(read(press('p'), 4000, true)).toBeUndefined();
    expect(read(press('g'), 5000, true)).toBeUndefined();
    expect(read(press('x'), 5100, true)).toBeUndefined();
    expect(read(press('p'), 5200, true)).toBeUndefined();
    // Sequences with capital letters, and with Shift pressed between the keys.
    expect(read(press('G'), 6000, true)).toBeUndefined();
    expect(read(press('Shift'), 6100, true)).toBeUndefined();
    expect(read(press('D'), 6200, true)).toBe('goToDeliveries');
  });

  test('shortcuts depend on the characters that are typed, not on the keys that produce them', () => {
    const read = createKeyReader(SHORTCUTS);
    expect(read(press('?'), 0, true)).toBe('help');
    expect(read(press('/'), 0, true)).toBe('search');
    expect(read(press('k', { ctrlKey: true }), 0, true)).toBe('search');
    expect(read(press('K', { metaKey: true }), 0, true)).toBe('search');
    expect(read(press('/', { ctrlKey: true }), 0, true)).toBeUndefined();
    expect(read(press('j', { altKey: true }), 0, true)).toBeUndefined();
  });

  test('in a field, or when shortcuts are off, only function keys and shortcuts with Ctrl or ⌘ still work', () => {
    const read = createKeyReader(SHORTCUTS);
    expect(read(press('?'), 0, false)).toBeUndefined();
    expect(read(press('g'), 0, false)).toBeUndefined();
    expect(read(press('p'), 1, true)).toBeUndefined();
    expect(read(press('k', { ctrlKey: true }), 0, false)).toBe('search');
    expect(['mod+k', 'ctrl+Space', 'F12', 'Escape', '/', 'j', 'g p'].filter(isTyped)).toEqual(['/', 'j', 'g p']);
  });

  test('shortcuts show keys as they are labeled on the keyboard', () => {
    expect(['mod+k', 'g p', '?', 'Escape', 'mod+Enter'].map((keys) => readableKeys(keys, false))).toEqual([
      'Ctrl K',
      'G then P',
      '?',
      'Esc',
      'Ctrl Enter',
    ]);
    expect(readableKeys('mod+k', true)).toBe('⌘ K');
  });
});

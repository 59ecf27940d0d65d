import type { Place } from './places.ts';

/** What the palette asks for after an action was chosen. */
export type Step = 'testEvent' | 'project';

/** A line in the palette. It leads to an address, does something, or asks for more. */
export type Entry = {
  /** Unique in the palette. */
  key: string;
  /** What it is: `Page`, `Action`, `Payment`. */
  type: string;
  label: string;
  /** Text that tells it apart from others with the same label. */
  detail?: string | undefined;
  /** Other words that people look for. */
  keywords?: string;
  /** Why it isn't available. */
  obstacle?: string | undefined;
  /** What to remember when it is opened, if it is an item. Pages remember themselves. */
  place?: Place;
} & ({ href: string } | { run(): void } | { step: Step });

export type EntryGroup = { title: string; entries: readonly Entry[] };

/** The entries that contain every word of a text, those that begin with it first. */
export function matching(entries: readonly Entry[], text: string): Entry[] {
  const query = text.trim().toLowerCase();
  const words = query.split(/\s+/);
  const rank = ({ label }: Entry) => {
    const name = label.toLowerCase();
    if (name.startsWith(query)) return 0;
    return name.includes(query) ? 1 : 2;
  };
  return entries
    .filter(({ label, keywords = '' }) => {
      const all = `${label} ${keywords}`.toLowerCase();
      return words.every((word) => all.includes(word));
    })
    .toSorted((a, b) => rank(a) - rank(b));
}

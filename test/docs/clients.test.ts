import { expect, test } from 'vitest';
import { clientLimitWarning } from '../../src/features/endpoints/client-limits.ts';
import { CLIENTS } from '../conformance/clients/recorded.ts';
import { readPage, section } from './pages.ts';

const PAGE = await readPage('docs/clients.md');

/** The cells of a section's only table, without its heading. */
function rowsOf(heading: string): string[][] {
  const rows = section(PAGE, heading)
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  return rows.map((row) =>
    row
      .split('|')
      .map((cell) => cell.trim())
      .slice(1, -1),
  );
}

const nameIn = (cell: string) => /^`([^`]+)`/.exec(cell)?.[1];

test('the page and the warning about prices have the same limits', () => {
  const limits = rowsOf('## What clients pay by default').filter(([, limit]) => limit !== 'none');
  expect(limits.length).toBeGreaterThan(0);
  const listed = limits.map(([client, limit]) => `${nameIn(client!)} (${limit} USD)`);
  const warned = clientLimitWarning(1_000_000_000n)!.match(/\S+ \([\d.]+ USD\)/g);
  expect(warned).toEqual(listed);
});

test('the page has every client whose requests the tests send, with its version and how often it pays', () => {
  const rows = rowsOf('## What clients send');
  for (const [client, { version, attempts }] of Object.entries(CLIENTS)) {
    const [name, release] = client.split(' ');
    const row = rows.find(([cell]) => nameIn(cell!) === name);
    expect(row?.[0], client).toContain(release);
    expect(row?.[1], client).toBe(String(version));
    expect(row?.[2], client).toMatch(attempts === 1 ? /^1$/ : new RegExp(`^up to ${attempts}\\b`));
  }
});

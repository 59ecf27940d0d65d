import { useLocalStorage } from '@mantine/hooks';
import { type Draft, operationsIn } from './operations.ts';

const MAX_ENTRIES = 30;

export type HistoryEntry = Draft & { at: string };

/**
 * The operations that were run in a project, newest first. The history is kept in this browser, without the variables
 * of mutations, because they can contain secrets.
 */
export function useHistory(projectId: string) {
  const [entries, setEntries, clear] = useLocalStorage<readonly HistoryEntry[]>({
    key: `tollgate.graphql-history.${projectId}`,
    defaultValue: [],
    getInitialValueInEffect: false,
  });
  const add = (draft: Draft) => setEntries((before) => withEntry(before, draft, new Date().toISOString()));
  return { entries, add, clear };
}

/**
 * Adds an entry to the history. If the same operation was run before, its entry moves to the front. The variables of
 * mutations are left empty.
 */
export function withEntry(entries: readonly HistoryEntry[], draft: Draft, at: string): HistoryEntry[] {
  const operations = operationsIn(draft.query);
  // Text that can't be parsed may contain a mutation.
  const isReadOnly = operations.length > 0 && operations.every(({ operation }) => operation !== 'mutation');
  const entry = { query: draft.query, variables: isReadOnly ? draft.variables : '', at };
  const others = entries.filter(({ query, variables }) => query !== entry.query || variables !== entry.variables);
  return [entry, ...others].slice(0, MAX_ENTRIES);
}

/** An entry's title: the names of its operations, or else the start of its text. */
export function titleOf({ query }: Draft): string {
  const names = operationsIn(query).flatMap(({ name }) => name?.value ?? []);
  return names.length > 0 ? names.join(', ') : query.replaceAll(/\s+/g, ' ').trim().slice(0, 60);
}

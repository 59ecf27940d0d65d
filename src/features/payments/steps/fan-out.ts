import { createLru } from '../../../lru.ts';
import type { Books } from './open-books.ts';

/** A project that is forgotten counts as having no destinations until its next event. */
const MAX_REMEMBERED = 10_000;

export type FanOut = ReturnType<typeof createFanOut>;

/**
 * Remembers how many destinations get the events of a step, in each project. An event writes a delivery for each of them,
 * and a project can have hundreds. Each step has its own counts, because destinations choose their types of events.
 */
export function createFanOut() {
  const known = createLru<{ account: string; destinations: number }>(MAX_REMEMBERED);

  const destinationsOf = (projectId: string): number => known.get(projectId)?.destinations ?? 0;

  return {
    /** Call this with the projects and destinations of a batch's events. */
    learn(books: ReadonlyMap<string, Books>, destinations: readonly { projectId: string }[]): void {
      const counts = new Map<string, number>();
      for (const { projectId } of destinations) counts.set(projectId, (counts.get(projectId) ?? 0) + 1);
      for (const { projectId, account } of books.values())
        known.set(projectId, { account, destinations: counts.get(projectId) ?? 0 });
    },

    /** How many destinations got the last event of this step. */
    destinationsOf,

    weightOf: ({ projectId }: { projectId: string }): number => 1 + destinationsOf(projectId),

    accountOf: ({ projectId }: { projectId: string }): string => known.get(projectId)?.account ?? projectId,
  };
}

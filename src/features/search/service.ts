import { getAddress, isAddress, isHash } from 'viem';
import { z } from 'zod';
import { searchableProjects } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { connectorTitle } from '../../connectors/types/registry.ts';
import { runStatement, type Statement } from '../../database/statement.ts';
import type { TenantDatabase } from '../../database/tenant-client.ts';
import { typeOfId } from '../../ids.ts';
import { createFairQueue } from '../../limits/fair-queue.ts';
import { runScheduled, withinDeadline } from '../../operation.ts';
import { parseInput } from '../../validation.ts';
import { BY_HASH, BY_ID, BY_TEXT, BY_WALLET, type Lookup } from './lookups.ts';
import { SEARCHED_TYPES, type SearchResult } from './results.ts';

export type SearchService = ReturnType<typeof createSearchService>;

const MIN_LENGTH = 2;
const MAX_LENGTH = 200;
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;
/**
 * API keys and signing secrets. A search for a secret finds nothing, and the URL that contains the secret may be
 * logged.
 */
const SECRET = /^(tg_(live|test)|whsec)_.{8}/;

/**
 * How many searches by name run at the same time in this process. Each can read tens of thousands of names, which keeps a
 * processor of the database busy for up to a second.
 */
const BY_NAME_AT_ONCE = 2;

/** Checks the text to search for. */
export const searchInput = z.object({
  query: z
    .string()
    .trim()
    .min(MIN_LENGTH, { error: `Must be at least ${MIN_LENGTH} characters.`, abort: true })
    .max(MAX_LENGTH, { error: `Must be at most ${MAX_LENGTH} characters.`, abort: true })
    .regex(LETTER_OR_DIGIT, { error: 'Must contain a letter or a digit.', abort: true })
    .refine(
      (text) => !SECRET.test(text),
      'This looks like a secret. Search by its name or last four characters instead.',
    ),
});

/**
 * Finds items by text that people paste: IDs, transaction hashes, wallets, payment identifiers, and parts of paths,
 * hosts, and names. Searches only what everyone with read access to the project can see, not masked parts or secrets.
 */
export function createSearchService({ db }: { db: TenantDatabase }) {
  const turns = createFairQueue({ perAccount: 1, perProcess: BY_NAME_AT_ONCE });

  return {
    /**
     * At most 10 items of each type, in one of the viewer's projects or in all of them. Someone else's items look like
     * items that don't exist.
     *
     * @throws AppError `VALIDATION_FAILED` for text that can't be searched for, and `NOT_FOUND` for malformed project IDs.
     */
    async find(viewer: Viewer, query: string, projectId?: string | null): Promise<SearchResult[]> {
      const text = checkText(query);
      const { lookup, value, isByName } = lookupOf(text, projectId == null);
      // Both statements run without waiting in between, because the viewer may lose access to a project while they wait.
      const search = async () => {
        // Throws if the caller is no longer waiting.
        await withinDeadline(() => {});
        const projectIds = await searchableProjects(db.prisma, viewer, projectId);
        if (projectIds.length === 0) return [];
        // Every item is in one of these projects.
        const statement = lookup(projectIds, value) as Statement<SearchResult>;
        return (await runStatement(db.pool, statement)).rows;
      };
      // A search takes its turn only once its account may use a connection. Otherwise, an account whose statements are slow
      // would keep its turn while the search waits for them, and two such accounts would stop everyone's searches.
      const rows = await runScheduled(() => (isByName ? turns.run(viewer.userId, search) : search()));
      const rank = ({ type }: SearchResult) => SEARCHED_TYPES.indexOf(type);
      return rows
        .map((found) => (found.type === 'Connector' ? { ...found, label: connectorTitle(found.label) } : found))
        .toSorted((a, b) => rank(a) - rank(b) || (a.id < b.id ? 1 : -1));
    },
  };
}

function lookupOf(text: string, inAllProjects: boolean): { lookup: Lookup; value: string; isByName?: boolean } {
  const type = typeOfId(text.toLowerCase());
  const byId = type && BY_ID[type];
  if (byId) return { lookup: byId, value: text.toLowerCase() };
  if (isHash(text)) return { lookup: BY_HASH, value: text.toLowerCase() };
  if (isAddress(text, { strict: false })) return { lookup: BY_WALLET, value: getAddress(text.toLowerCase()) };
  return { lookup: BY_TEXT[inAllProjects ? 'everywhere' : 'inProject'], value: text, isByName: true };
}

function checkText(query: string): string {
  return parseInput(searchInput, { query }).query;
}

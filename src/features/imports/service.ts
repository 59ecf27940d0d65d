import { requireVisible } from '../../auth/access.ts';
import { requirePermission } from '../../auth/require-permission.ts';
import type { IdentifyAgain, Viewer } from '../../auth/viewer.ts';
import type { ProjectAllow } from '../../config/project-allow.ts';
import type { TenantDatabase } from '../../database/tenant-client.ts';
import type { EgressAllow } from '../../egress/allow-list.ts';
import type { Egress } from '../../egress/egress.ts';
import { AppError, type ErrorCode, type FieldError, invalidField } from '../../errors.ts';
import { OPERATION_MILLISECONDS } from '../../operation.ts';
import { parseInput } from '../../validation.ts';
import type { UpdateEndpointInput } from '../endpoints/input.ts';
import { canonicalPath } from '../endpoints/path.ts';
import type { EndpointService } from '../endpoints/service.ts';
import { shownUrl } from '../urls/stored-url.ts';
import { type Known, type Match, matchOperations } from './compare.ts';
import { createDocumentFetcher } from './fetch-document.ts';
import { creationOf, refusedMove, updateOf } from './fields.ts';
import { createImportInputs, type ImportInput, type ImportItem, type PreviewInput } from './input.ts';
import type { Problem } from './openapi/document.ts';
import type { ReadDocument } from './openapi/read-document.ts';
import { createPreviewItems, type PreviewItem } from './preview-items.ts';
import { chooseBase } from './proposals.ts';
import { compareEach, readStored, type Stored } from './stored-endpoints.ts';

/** The result of importing an item. */
export const IMPORT_STATUSES = ['CREATED', 'UPDATED', 'SAME', 'FAILED'] as const;

export type Preview = {
  title: string | null;
  description: string | null;
  servers: string[];
  items: PreviewItem[];
  problems: Problem[];
};
export type ImportedItem = {
  path: string;
  methods: string[];
  status: (typeof IMPORT_STATUSES)[number];
  endpointId: string | null;
  error: { code: ErrorCode; message: string; errors: FieldError[] } | null;
};
export type ImportService = ReturnType<typeof createImportService>;

/**
 * The share of an operation's time that an import may take. A document must be read within this time, and items that
 * haven't been imported by then are left for the next import.
 */
const MAX_SHARE = 0.8;

/**
 * Imports endpoints from OpenAPI documents. Methods throw AppError `NOT_FOUND`, `VALIDATION_FAILED`,
 * `RATE_LIMITED`, and `UNAVAILABLE`.
 */
export function createImportService(options: {
  db: TenantDatabase;
  egress: Egress;
  egressAllow: EgressAllow;
  upstreamAllow: ProjectAllow;
  endpoints: EndpointService;
  readDocument: ReadDocument;
  operationMilliseconds?: number;
}) {
  const { db, egress, egressAllow, upstreamAllow, endpoints, readDocument } = options;
  const maxMilliseconds = Math.ceil(MAX_SHARE * (options.operationMilliseconds ?? OPERATION_MILLISECONDS));
  const { previewInput, importInput } = createImportInputs(egressAllow, upstreamAllow);
  const fetchDocument = createDocumentFetcher(egress, egressAllow);

  /** Returns also the caller as of now, because the document may take seconds to arrive. */
  async function compare(
    { userId: accountId }: Viewer,
    projectId: string,
    { document: given, url, upstreamUrl }: PreviewInput,
    { signal, identifyAgain }: { signal: AbortSignal; identifyAgain: IdentifyAgain },
  ) {
    const source = given == null ? await fetchDocument(accountId, url!) : undefined;
    const pointer = source ? '/url' : '/document';
    const document = await readDocument(source?.text ?? given!, { pointer, accountId, signal });
    const viewer = await identifyAgain();
    await requireVisible(db.prisma, viewer, projectId);
    if (document.operations.length === 0) {
      const [problem] = document.problems;
      const reason = problem ? ` ${problem.pointer}: ${problem.message}` : '';
      throw invalidField(pointer, `Nothing in the document can be imported.${reason}`);
    }
    const stored = await readStored(db, viewer, projectId);
    const allow = upstreamAllow.of(projectId);
    const baseOf = chooseBase(document, { upstreamUrl, documentUrl: source?.url, allow });
    return { viewer, document, matches: matchOperations(document, stored, baseOf) };
  }

  return {
    /** Compares a document with the project's endpoints. Changes nothing. */
    async preview(
      caller: Viewer,
      projectId: string,
      given: PreviewInput,
      identifyAgain: IdentifyAgain,
    ): Promise<Preview> {
      const signal = AbortSignal.timeout(maxMilliseconds);
      await requireVisible(db.prisma, caller, projectId);
      const input = parseInput(previewInput, given);
      const { viewer, document, matches } = await compare(caller, projectId, input, { signal, identifyAgain });
      const { title, description, servers, problems } = document;
      const itemOf = createPreviewItems(input.priceUsd ?? null, (url) => shownUrl(viewer, projectId, url));
      const items: PreviewItem[] = [];
      for await (const { match, changes } of compareEach(db, viewer, matches)) items.push(itemOf(match, changes));
      return { title, description, servers, items, problems };
    },

    /**
     * Creates and updates endpoints, one by one. Each has a result, and a failure doesn't stop the others. If the caller
     * loses access in the meantime, nothing more is changed.
     */
    async import(
      caller: Viewer,
      projectId: string,
      given: ImportInput,
      identifyAgain: IdentifyAgain,
    ): Promise<ImportedItem[]> {
      const signal = AbortSignal.timeout(maxMilliseconds);
      await requireVisible(db.prisma, caller, projectId);
      const { items, ...input } = parseInput(importInput, given);
      const { viewer, matches } = await compare(caller, projectId, input, { signal, identifyAgain });
      requirePermission(viewer, projectId, 'WRITE');
      const permitted = untilRefused(async () => {
        const now = await identifyAgain();
        requirePermission(now, projectId, 'WRITE');
        return now;
      });
      const meant = items.map((item) => ({ item, match: findMeant(matches, item) }));
      const updates = new Map<Match<Stored>, UpdateEndpointInput>();
      const chosen = new Set(meant.flatMap(({ match }) => match ?? []));
      for await (const { match, changes } of compareEach(db, viewer, [...chosen]))
        updates.set(match, updateOf(changes));
      const results: ImportedItem[] = [];
      const done = new Set<Match<Stored>>();
      let hasWritten = false;
      for (const { item, match } of meant) {
        const result = await importOne(match && !done.has(match) ? match : undefined, item);
        if (match) done.add(match);
        results.push(result);
      }
      return results;

      async function importOne(match: Match<Stored> | undefined, item: ImportItem): Promise<ImportedItem> {
        const { path, methods } = match?.proposal ?? { path: item.path, methods: item.methods ?? [] };
        try {
          const priceUsd = item.priceUsd ?? (match?.endpoint ? undefined : input.priceUsd);
          requireSameUpstream(match, item);
          const { status, endpointId } = await write(match, priceUsd ?? undefined);
          return { path, methods, status, endpointId, error: null };
        } catch (error) {
          if (!(error instanceof AppError) || error.code === 'OUTCOME_UNCERTAIN') throw error;
          const { code, message, fields } = error;
          const endpointId = match?.endpoint?.id ?? null;
          return { path, methods, status: 'FAILED', endpointId, error: { code, message, errors: fields } };
        }
      }

      /** Every import writes at least one item. Otherwise, a slow service might never finish an import. */
      function requireTime(): void {
        if (hasWritten && signal.aborted) throw new AppError('UNAVAILABLE', { detail: OUT_OF_TIME });
        hasWritten = true;
      }

      /** Whoever controls a document could change it after a person has seen its preview. */
      function requireSameUpstream(match: Match<Stored> | undefined, { upstreamUrl }: ImportItem): void {
        if (upstreamUrl == null || !match?.proposal) return;
        if (shownUrl(viewer, projectId, match.proposal.upstreamUrl) !== upstreamUrl)
          throw invalidField('/upstreamUrl', OTHER_UPSTREAM);
      }

      async function write(match: Match<Stored> | undefined, priceUsd: string | undefined) {
        if (!match?.proposal)
          throw invalidField(
            '/path',
            'The document doesn’t contain this path with these methods, or you sent the same item twice.',
          );
        const { proposal, endpoint } = match;
        if (!endpoint) {
          if (priceUsd === undefined) throw invalidField('/priceUsd', 'Required for a new endpoint.');
          requireTime();
          const created = await endpoints.create(await permitted(), projectId, { ...creationOf(proposal), priceUsd });
          return { status: 'CREATED', endpointId: created.id } as const;
        }
        const update = updates.get(match) ?? {};
        if (Object.keys(update).length === 0) return { status: 'SAME', endpointId: endpoint.id } as const;
        const refusal = refusedMove(endpoint, proposal);
        if (refusal !== undefined) throw invalidField('/upstreamUrl', refusal);
        requireTime();
        await endpoints.update(
          await permitted(),
          endpoint.id,
          { ...update, ...(priceUsd !== undefined && { priceUsd }) },
          projectId,
        );
        return { status: 'UPDATED', endpointId: endpoint.id } as const;
      }
    },
  };
}

const OTHER_UPSTREAM =
  'The document has changed since the preview, and now has another upstream URL for this endpoint. Preview it again.';

const OUT_OF_TIME = 'There wasn’t enough time to import this item. Import the document again to import the rest.';

/** Repeats a check until it fails, because every check of a revoked credential would count as an attempt to guess one. */
function untilRefused<T>(check: () => Promise<T>): () => Promise<T> {
  let refused: Promise<T> | undefined;
  return async () => {
    const result = refused ?? check();
    return result.catch((error) => {
      refused = result;
      throw error;
    });
  };
}

/** The proposal that an item refers to, by its path and, if it has any, its methods. */
function findMeant<Stored extends Known>(
  matches: readonly Match<Stored>[],
  { path, methods }: ImportItem,
): Match<Stored> | undefined {
  const canonical = canonicalPath(path);
  if (!canonical.ok) return undefined;
  const wanted = methods?.map((method) => method.toUpperCase());
  return matches.find(
    ({ proposal }) => proposal?.path === canonical.path && (!wanted || isSameSet(wanted, proposal.methods)),
  );
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return new Set(one).size === other.length && one.every((value) => other.includes(value));
}

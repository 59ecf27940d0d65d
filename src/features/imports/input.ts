import { z } from 'zod';
import type { ProjectAllow } from '../../config/project-allow.ts';
import type { EgressAllow } from '../../egress/allow-list.ts';
import { USD_PATTERN } from '../../money.ts';
import { priceInput } from '../endpoints/input.ts';
import { createUpstreamUrls, NO_OPENINGS } from '../urls/project-url.ts';
import { targetUrlInput } from '../urls/stored-url.ts';

/** How many endpoints one import can create and update. */
export const MAX_ITEMS = 200;

export type PreviewInput = {
  document?: string | null | undefined;
  url?: string | null | undefined;
  upstreamUrl?: string | null | undefined;
  priceUsd?: string | null | undefined;
};
export type ImportItem = {
  path: string;
  methods?: string[] | null | undefined;
  upstreamUrl?: string | null | undefined;
  priceUsd?: string | null | undefined;
};
export type ImportInput = PreviewInput & { items: ImportItem[] };

/** The rules for the inputs of imports. */
export function createImportInputs(allow: EgressAllow, upstreamAllow: ProjectAllow) {
  const source = {
    document: z.string().nullish(),
    url: targetUrlInput(allow).nullish(),
    upstreamUrl: createUpstreamUrls(upstreamAllow).input.nullish(),
    // Validates the price, but keeps it as text, as `createEndpoint` expects.
    priceUsd: z.string().meta({ pattern: USD_PATTERN.source }).superRefine(checkPrice).nullish(),
  };
  const previewInput = z.strictObject(source).superRefine(checkSource);
  const item = z.strictObject({
    path: z.string(),
    methods: z.array(z.string()).max(20).nullish(),
    upstreamUrl: z.string().nullish(),
    priceUsd: z.string().nullish(),
  });
  const importInput = z
    .strictObject({ ...source, items: z.array(item).min(1).max(MAX_ITEMS) })
    .superRefine(checkSource);
  return { previewInput, importInput, item };
}

/** The rules that don't depend on a server's configuration. */
export const IMPORT_RULES = createImportInputs(NO_OPENINGS.any, NO_OPENINGS);

function checkPrice(text: string, context: z.RefinementCtx): void {
  for (const { message } of priceInput.safeParse(text).error?.issues ?? [])
    context.addIssue({ code: 'custom', message });
}

function checkSource({ document, url }: PreviewInput, context: z.RefinementCtx): void {
  if (document == null && url == null) {
    context.addIssue({ code: 'custom', path: ['document'], message: 'Required unless you send a URL.' });
  }
  if (document != null && url != null) {
    context.addIssue({ code: 'custom', path: ['url'], message: 'Send either a document or a URL, not both.' });
  }
}

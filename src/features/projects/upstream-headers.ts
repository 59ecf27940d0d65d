import { z } from 'zod';
import type { Values } from '../../audit/value-sizes.ts';
import { Prisma, type Project } from '../../generated/prisma/client.ts';
import { maskUrl } from '../../secrets/mask-url.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { headerArray } from '../headers/header-rules.ts';
import {
  changeUpstreamHeaders,
  type HeaderOwner,
  openSealedHeaders,
  type ProjectUpstreamHeader,
  projectHeaderKey,
  projectHeaderList,
  upstreamHeaderColumns,
} from '../headers/upstream-headers.ts';
import { urlPrefixInput } from '../headers/url-prefix.ts';
import type { ProjectUrls, UrlInput } from '../urls/project-url.ts';

export type ProjectHeadersInput = { upstreamHeaders?: readonly ProjectUpstreamHeader[] | null | undefined };

/** Why API keys can't change a project's headers. */
export const ONLY_THE_OWNER_SETS_HEADERS =
  'API keys cannot change a project’s `upstreamHeaders`, because they determine where its secrets are sent. Use the project owner’s user token.';

/** The shape of the input. Its contents are checked after masked values are replaced with the stored ones. */
export function projectHeadersShape(upstreamUrls: UrlInput) {
  const header = z.strictObject({ name: z.string(), value: z.string(), urlPrefix: urlPrefixInput(upstreamUrls) });
  return { upstreamHeaders: headerArray(header).nullish() };
}

/** @throws AppError `VALIDATION_FAILED` if a header is for a URL that isn't allowed for this project. */
export function checkHeaderUrls(upstreamUrls: ProjectUrls, id: string, { upstreamHeaders }: ProjectHeadersInput): void {
  for (const [index, { urlPrefix }] of upstreamHeaders?.entries() ?? []) {
    upstreamUrls.check(id, urlPrefix, `/upstreamHeaders/${index}/urlPrefix`);
  }
}

function ownerOf(id: string): HeaderOwner {
  return { table: 'Project', rowId: id, projectId: id };
}

/** A project's headers in full. @throws Error if they can't be decrypted. Its message contains no secret. */
export function openProjectHeaders(
  secretBox: Pick<SecretBox, 'open'>,
  id: string,
  sealed: string | null,
): ProjectUpstreamHeader[] {
  return sealed === null ? [] : openSealedHeaders(secretBox, ownerOf(id), sealed);
}

/**
 * The columns to change. A header keeps its value only if its URL stays the same, so a new URL requires the value in
 * full.
 *
 * @param before undefined for a new project.
 * @returns an empty object if nothing changes.
 * @throws AppError `VALIDATION_FAILED` with pointers.
 */
export function projectHeaderColumns(
  secretBox: SecretBox,
  id: string,
  before: Pick<Project, 'secretUpstreamHeaders'> | undefined,
  { upstreamHeaders: given }: ProjectHeadersInput,
) {
  if (given === undefined) return {};
  const open = () => openProjectHeaders(secretBox, id, before?.secretUpstreamHeaders ?? null);
  const headers = changeUpstreamHeaders(open, given, { list: projectHeaderList, keyOf: projectHeaderKey });
  const { upstreamHeaders, secretUpstreamHeaders } = upstreamHeaderColumns(secretBox, ownerOf(id), headers);
  return { upstreamHeaders: upstreamHeaders ?? Prisma.DbNull, secretUpstreamHeaders };
}

/** A project's headers as the API shows them to users. */
export function shownProjectHeaders({ upstreamHeaders }: Pick<Project, 'upstreamHeaders'>): ProjectUpstreamHeader[] {
  return (upstreamHeaders as ProjectUpstreamHeader[] | null) ?? [];
}

/** The value for the audit log. URLs are masked there. */
export function auditedProjectHeaders(project: Pick<Project, 'upstreamHeaders'>): Values {
  const headers = shownProjectHeaders(project).map((header) => ({ ...header, urlPrefix: maskUrl(header.urlPrefix) }));
  return { upstreamHeaders: headers.length > 0 ? headers : null };
}

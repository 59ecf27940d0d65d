import { z } from 'zod';
import { AppError } from '../../errors.ts';
import { isMasked, neededAgain } from '../../secrets/masked-secrets.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { parseInput } from '../../validation.ts';
import { URL_LIMITS } from '../urls/stored-url.ts';
import {
  CONNECTION_NAMES,
  headerList,
  headerShape,
  PAYMENT_NAMES,
  type RefusedNames,
  ROUTING_NAMES,
  refusalIn,
  type SecretHeader,
} from './header-rules.ts';
import { changeHeaders, shownHeaders } from './secret-headers.ts';

/** A header that the gateway adds to requests to all upstreams under a URL. */
export type ProjectUpstreamHeader = SecretHeader & {
  /** An origin and perhaps a path, without a slash at the end. */
  urlPrefix: string;
};

/** The row that upstream headers belong to. For a project, `rowId` and `projectId` are the same. */
export type HeaderOwner = { table: 'Endpoint' | 'Project'; rowId: string; projectId: string };

const REFUSED: RefusedNames = [
  [PAYMENT_NAMES, 'It is part of the payment, which the gateway doesn’t forward.'],
  [
    /^(?:host|forwarded|via|x-forwarded(?:-.*)?|(?:x-)?tollgate(?:-.*)?|traceparent|tracestate)$/,
    'The gateway sets it so that your API can trust it.',
  ],
  [CONNECTION_NAMES, 'It applies only to a single connection.'],
  [/^(?:content-(?:length|type|encoding)|accept-encoding|date)$/, 'It describes the buyer’s request.'],
  [ROUTING_NAMES, 'It could route your credentials to another part of your API.'],
];

/** Why an upstream can't get a header with this name from its seller; undefined if it can. */
export function upstreamRefusalOf(name: string): string | undefined {
  return refusalIn(REFUSED, name);
}

/** Checks a header of an endpoint, with its value in full. */
export const upstreamHeaderRules = z.strictObject(headerShape(REFUSED));

/** Checks the headers of an endpoint, with their values in full. */
export const upstreamHeaderList = headerList(upstreamHeaderRules);

/** The key of a project's header. Two headers can have the same name if they are for different URLs. */
export const projectHeaderKey = ({ name, urlPrefix }: ProjectUpstreamHeader) => `${name.toLowerCase()} ${urlPrefix}`;

/** Checks a header of a project, with its value in full. Its URL was checked before. */
export const projectHeaderRules = z.strictObject({ ...headerShape(REFUSED), urlPrefix: z.string().meta(URL_LIMITS) });

/** Checks the headers of a project, with their values in full. */
export const projectHeaderList = headerList(projectHeaderRules, projectHeaderKey);

/**
 * Applies a change to stored headers, which are decrypted only if masked values are sent back.
 *
 * @param openStored returns the stored headers. If it fails, their values must be sent in full.
 * @param options `list` and `keyOf`: the rules for this owner's headers. `moved`: other changes that affect where the
 * headers are sent.
 * @throws AppError `VALIDATION_FAILED` with pointers, including when stored values would go to another address.
 */
export function changeUpstreamHeaders<H extends SecretHeader>(
  openStored: () => H[],
  given: readonly H[] | null,
  options: { list: z.ZodType<H[]>; keyOf?: (header: H) => string; moved?: readonly string[] },
): H[] {
  const { list, moved = [], ...how } = options;
  const stored = given?.some(({ value }) => isMasked(value)) ? orNothing(openStored) : [];
  const { headers, kept } = changeHeaders(stored, given, { pointer: '/upstreamHeaders', ...how });
  const { upstreamHeaders } = parseInput(z.object({ upstreamHeaders: list }), { upstreamHeaders: headers });
  requireAgain(kept, moved);
  return upstreamHeaders;
}

/** @throws AppError `VALIDATION_FAILED` for stored values that would go to another address. */
export function requireAgain(pointers: readonly string[], moved: readonly string[]): void {
  if (pointers.length === 0 || moved.length === 0) return;
  throw new AppError('VALIDATION_FAILED', {
    fields: pointers.map((pointer) => neededAgain(pointer, moved.join(', '))),
  });
}

/** Headers that can't be decrypted can still be replaced. The gateway logs the error when it needs them. */
function orNothing<T>(open: () => T[]): T[] {
  try {
    return open();
  } catch {
    return [];
  }
}

/**
 * An owner's columns: its headers as the API returns them, and the full headers, encrypted. Both are null if it has no
 * headers.
 *
 * @param content the content to encrypt, if it is more than the headers.
 */
export function upstreamHeaderColumns<H extends SecretHeader>(
  secretBox: SecretBox,
  owner: HeaderOwner,
  headers: readonly H[],
  content: object = headers,
): { upstreamHeaders: H[] | null; secretUpstreamHeaders: string | null } {
  if (headers.length === 0) return { upstreamHeaders: null, secretUpstreamHeaders: null };
  return {
    upstreamHeaders: shownHeaders(headers),
    secretUpstreamHeaders: secretBox.seal(JSON.stringify(content), cellOf(owner)),
  };
}

/** Decrypts an owner's content. @throws Error if it can't be decrypted. Its message contains no secret. */
export function openSealedHeaders<T>(secretBox: Pick<SecretBox, 'open'>, owner: HeaderOwner, sealed: string): T {
  return JSON.parse(secretBox.open(sealed, cellOf(owner)));
}

function cellOf(owner: HeaderOwner) {
  return { ...owner, column: 'secretUpstreamHeaders' };
}

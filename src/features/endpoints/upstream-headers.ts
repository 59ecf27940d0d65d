import { z } from 'zod';
import type { Values } from '../../audit/value-sizes.ts';
import { type Endpoint, Prisma } from '../../generated/prisma/client.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { headerArray, type SecretHeader } from '../headers/header-rules.ts';
import {
  changeUpstreamHeaders,
  type HeaderOwner,
  openSealedHeaders,
  requireAgain,
  upstreamHeaderColumns,
  upstreamHeaderList,
} from '../headers/upstream-headers.ts';
import { openPart } from './path.ts';

export type UpstreamHeadersInput = { upstreamHeaders?: readonly SecretHeader[] | null | undefined };

/** The shape of the input. Its contents are checked after masked values are replaced with the stored ones. */
export const upstreamHeadersShape = {
  upstreamHeaders: headerArray(z.strictObject({ name: z.string(), value: z.string() })).nullish(),
};

type Identity = Pick<Endpoint, 'id' | 'projectId'>;
type Located = Identity & Pick<Endpoint, 'upstreamUrl'>;
type Address = Pick<Endpoint, 'upstreamUrl' | 'path'>;

function ownerOf({ id, projectId }: Identity): HeaderOwner {
  return { table: 'Endpoint', rowId: id, projectId };
}

/** The encrypted content: the headers, and the only URL that they may be sent to. */
type Sealed = { upstreamUrl: string; headers: SecretHeader[] };

/**
 * An endpoint's headers in full.
 *
 * @throws Error if they can't be decrypted, or if the upstream URL was changed without them, for example, by a process
 * running a version that doesn't support upstream headers. The message contains no secret.
 */
export function openEndpointHeaders(
  secretBox: Pick<SecretBox, 'open'>,
  endpoint: Identity & Pick<Endpoint, 'upstreamUrl' | 'secretUpstreamHeaders'>,
): SecretHeader[] {
  const { id, upstreamUrl, secretUpstreamHeaders } = endpoint;
  if (secretUpstreamHeaders === null) return [];
  const sealed = openSealedHeaders<Sealed>(secretBox, ownerOf(endpoint), secretUpstreamHeaders);
  if (sealed.upstreamUrl === upstreamUrl) return sealed.headers;
  throw new Error(`The upstream headers of ${id} were stored for a different upstream URL.`);
}

/** Writes the headers that the gateway adds to requests to an endpoint's upstream. */
export function createStoredUpstreamHeaders(secretBox: SecretBox) {
  function columnsOf(endpoint: Located, headers: SecretHeader[]) {
    const { upstreamUrl } = endpoint;
    return upstreamHeaderColumns(secretBox, ownerOf(endpoint), headers, { upstreamUrl, headers } satisfies Sealed);
  }

  return {
    /** The columns of a new endpoint. @throws AppError `VALIDATION_FAILED` */
    ofNew(endpoint: Located, { upstreamHeaders: given = null }: UpstreamHeadersInput) {
      const headers = changeUpstreamHeaders(() => [], given, { list: upstreamHeaderList });
      return columnsOf(endpoint, headers);
    },

    /**
     * The columns to change. After every URL change, even on the same host, the headers must be sent again, because the
     * path often determines who gets a request or what the request does.
     *
     * @param after the upstream URL and the path after the change.
     * @returns undefined if nothing changes.
     * @throws AppError `VALIDATION_FAILED`, including when values must be sent again.
     */
    ofChanged(before: Endpoint, { upstreamHeaders: given }: UpstreamHeadersInput, after: Address) {
      const moved = changedParts(before, after);
      if (given === undefined) {
        const pointers = shownUpstreamHeaders(before).map((_header, index) => `/upstreamHeaders/${index}/value`);
        requireAgain(pointers, moved);
        return undefined;
      }
      const open = () => openEndpointHeaders(secretBox, before);
      const headers = changeUpstreamHeaders(open, given, { list: upstreamHeaderList, moved });
      const { upstreamHeaders, secretUpstreamHeaders } = columnsOf({ ...before, ...after }, headers);
      return { upstreamHeaders: upstreamHeaders ?? Prisma.DbNull, secretUpstreamHeaders };
    },
  };
}

/** The changed parts of an endpoint that determine where requests go. */
function changedParts(before: Address, after: Address): string[] {
  return [
    ...(before.upstreamUrl === after.upstreamUrl ? [] : ['upstream URL']),
    ...(openPart(before.path) === openPart(after.path) ? [] : ['path']),
  ];
}

/** An endpoint's headers as the API shows them. */
export function shownUpstreamHeaders({ upstreamHeaders }: Pick<Endpoint, 'upstreamHeaders'>): SecretHeader[] {
  return (upstreamHeaders as SecretHeader[] | null) ?? [];
}

/** The value for the audit log. */
export function auditedUpstreamHeaders({ upstreamHeaders }: Pick<Endpoint, 'upstreamHeaders'>): Values {
  return { upstreamHeaders };
}

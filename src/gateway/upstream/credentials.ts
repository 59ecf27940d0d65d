import type { Logger } from 'pino';
import { waitToSearch } from '../../delivery/send/search-turns.ts';
import { AppError } from '../../errors.ts';
import { openEndpointHeaders } from '../../features/endpoints/upstream-headers.ts';
import type { SecretHeader } from '../../features/headers/header-rules.ts';
import type { ProjectUpstreamHeader } from '../../features/headers/upstream-headers.ts';
import { isUnder } from '../../features/headers/url-prefix.ts';
import { openProjectHeaders } from '../../features/projects/upstream-headers.ts';
import { scrubberOf } from '../../secrets/redact.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import type { Headers } from './headers.ts';

/** The headers that the gateway adds to requests to an upstream. */
export type UpstreamCredentials = {
  /** Names in lowercase. */
  headers: Readonly<Record<string, string>>;
  /** The values to look for in responses. */
  secrets: readonly string[];
};

/** An endpoint with its encrypted headers, as the database returns it. */
export type SealedEndpoint = { endpointId: string; upstreamUrl: string; secretUpstreamHeaders: string | null };

const NONE: UpstreamCredentials = { headers: {}, secrets: [] };
const noCredentials = () => NONE;
/** Values shorter than this also occur in harmless text, so they aren't looked for. */
const MIN_HIDDEN_LENGTH = 6;
const RETRY_SECONDS = 30;

/**
 * Decrypts the headers that sellers have stored for their upstreams. They are decrypted when a route is first used, and
 * then kept for as long as the route is in memory.
 *
 * @returns a function that takes a project with its encrypted headers and returns a function for each of its endpoints.
 * That function throws AppError `UNAVAILABLE` if the headers can't be used, which is logged once per endpoint.
 */
export function createCredentialOpener({ secretBox, log }: { secretBox: Pick<SecretBox, 'open'>; log: Logger }) {
  const reported = new Set<string>();

  return function ofProject(projectId: string, sealedOfProject: string | null) {
    const projectHeaders = once(() => openProjectHeaders(secretBox, projectId, sealedOfProject));

    return function ofEndpoint({ endpointId, upstreamUrl, secretUpstreamHeaders }: SealedEndpoint) {
      if (sealedOfProject === null && secretUpstreamHeaders === null) return noCredentials;
      const open = once(() => {
        const defaults = defaultsFor(upstreamUrl, projectHeaders());
        const endpoint = { id: endpointId, projectId, upstreamUrl, secretUpstreamHeaders };
        const own = openEndpointHeaders(secretBox, endpoint);
        return credentialsOf([...defaults, ...own]);
      });
      return (): UpstreamCredentials => {
        try {
          return open();
        } catch (error) {
          report(error, { projectId, endpointId });
          throw new AppError('UNAVAILABLE', { retryAfterSeconds: RETRY_SECONDS, cause: error });
        }
      };
    };
  };

  function report(error: unknown, where: { projectId: string; endpointId: string }): void {
    if (reported.has(where.endpointId)) return;
    reported.add(where.endpointId);
    log.error({ err: error, ...where }, "an endpoint isn't served because its upstream headers can't be used");
  }
}

/** The project's headers for this upstream. If several have the same name, the one for the longest URL comes last. */
function defaultsFor(upstreamUrl: string, headers: readonly ProjectUpstreamHeader[]): ProjectUpstreamHeader[] {
  const matching = headers.filter(({ urlPrefix }) => isUnder(urlPrefix, upstreamUrl));
  return matching.sort((one, other) => one.urlPrefix.length - other.urlPrefix.length);
}

/** Later headers replace earlier ones with the same name. */
function credentialsOf(list: readonly SecretHeader[]): UpstreamCredentials {
  const headers = Object.fromEntries(list.map(({ name, value }) => [name.toLowerCase(), value]));
  const secrets = Object.values(headers)
    .flatMap(secretParts)
    .filter(({ length }) => length >= MIN_HIDDEN_LENGTH);
  return { headers, secrets };
}

/** The value, and the part after a scheme such as `Bearer`. */
function secretParts(value: string): string[] {
  const afterScheme = /^[A-Za-z][\w-]* +(.+)$/.exec(value)?.[1];
  return afterScheme === undefined ? [value] : [value, afterScheme];
}

/**
 * A buyer's headers combined with the seller's. Buyers' headers that programs could confuse with the seller's are
 * removed: in CGI and WSGI, `X_Api_Key` and `X-Api-Key` are the same variable.
 */
export function withCredentials(headers: Headers, { headers: own }: Pick<UpstreamCredentials, 'headers'>): Headers {
  if (own === NONE.headers) return headers;
  const taken = new Set(Object.keys(own).map(variableOf));
  const kept = Object.entries(headers).filter(([name]) => !taken.has(variableOf(name)));
  return { ...Object.fromEntries(kept), ...own };
}

/** Removes a response's headers that repeat one of the seller's values, in any spelling that `scrub` finds. */
export async function withholdSecrets(
  headers: Headers,
  { secrets }: UpstreamCredentials,
  accountId: string,
): Promise<void> {
  if (secrets.length === 0) return;
  await waitToSearch(secrets, accountId);
  const scrub = scrubberOf(secrets, accountId);
  const isSecret = (value: string) => scrub(value) !== value;
  for (const [name, values] of Object.entries(headers)) if ([values].flat().some(isSecret)) delete headers[name];
}

const variableOf = (name: string) => name.replace(/[^a-z0-9]/g, '_');

/** Runs a function on the first call, and then repeats the result or the error. */
function once<T>(run: () => T): () => T {
  let outcome: { value: T } | { error: unknown } | undefined;
  return () => {
    outcome ??= attempt(run);
    if ('error' in outcome) throw outcome.error;
    return outcome.value;
  };
}

function attempt<T>(run: () => T): { value: T } | { error: unknown } {
  try {
    return { value: run() };
  } catch (error) {
    return { error };
  }
}

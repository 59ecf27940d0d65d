import { VERSION } from '../version.ts';
import { Failure } from './failure.ts';

/** Plain-English descriptions of network error codes. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'the host name cannot be resolved right now',
  ECONNRESET: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS at this port; use http:// instead of https://',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak TLS at this port; use http:// instead of https://',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host name',
};

/** The codes of certificates that no authority vouches for. */
const UNTRUSTED = new Set([
  ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ...['UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
]);

/**
 * The only place where the command line opens connections: to the service, and to the port that `listen` forwards to.
 * It takes the same parameters as `fetch`, so a client that wraps `fetch` can use it.
 *
 * @throws Failure `unreachable` if there is no response. An abort by `init.signal` is thrown unchanged.
 */
export async function request(target: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  try {
    return await fetch(target, { redirect: 'manual', ...init });
  } catch (error) {
    const url = target instanceof Request ? target.url : String(target);
    throw connectionFailure(error, url, init.signal);
  }
}

/**
 * Like `request`, but accepts any certificate, such as the self-signed one of a server on this machine. Only for
 * requests that carry no credential.
 */
export async function requestUnverified(target: string, init: RequestInit = {}): Promise<Response> {
  // Loaded only for this, because it would slow down every start.
  const { Agent, fetch } = await import('undici');
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  try {
    return (await fetch(target, { redirect: 'manual', ...init, dispatcher } as never)) as unknown as Response;
  } catch (error) {
    throw connectionFailure(error, target, init.signal);
  } finally {
    void dispatcher.close();
  }
}

/** Like `request`, but names the client in every request, so that the audit log shows which program made a change. */
export function requestAs({ client, userAgent }: { client: string; userAgent: string }): typeof request {
  return (target, init) => {
    const headers = new Headers(init?.headers);
    headers.set('tollgate-client', client);
    headers.set('user-agent', `${userAgent}/${VERSION}`);
    return request(target, { ...init, headers });
  };
}

/** Explains why a connection failed, without the path and query, which may contain secrets. */
export function connectionFailure(error: unknown, url: string, signal?: AbortSignal | null): unknown {
  if (signal?.aborted && (error as Error).name === 'AbortError') return error;
  const { origin } = new URL(url);
  return new Failure('unreachable', `Cannot reach ${origin}: ${reasonOf(error)}.`, { isTransient: true });
}

function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error & { cause?: Error & { code?: string; errors?: { code?: string }[] } };
  if (name === 'TimeoutError') return 'the request timed out';
  const code = cause?.code ?? cause?.errors?.[0]?.code ?? '';
  if (UNTRUSTED.has(code))
    return 'its certificate is self-signed, or from an authority that this machine does not know';
  return REASONS[code] ?? (cause?.message || message).replace(/\.$/, '');
}

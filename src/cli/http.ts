import { Failure } from './failure.ts';

/** Plain-English descriptions of network error codes. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'the host name cannot be resolved right now',
  ECONNRESET: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
};

/**
 * The only place where the command line opens connections: to the service, and to the port that `listen` forwards to.
 *
 * @throws Failure `unreachable` if there is no response. An abort by `init.signal` is thrown unchanged.
 */
export async function request(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { redirect: 'manual', ...init });
  } catch (error) {
    throw connectionFailure(error, url, init.signal);
  }
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
  return REASONS[code] ?? (cause?.message || message).replace(/\.$/, '');
}

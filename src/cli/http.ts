import { Failure } from './failure.ts';

/** Reasons of the network layer that people know by another name. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name cannot be resolved right now',
  ECONNRESET: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
};

/**
 * The one place where the command line opens connections: to the service, and to the local port of `listen`.
 *
 * @throws Failure `unreachable` when there is no answer; the abort of `init.signal` passes as it is.
 */
export async function request(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { redirect: 'manual', ...init });
  } catch (error) {
    throw connectionFailure(error, url, init.signal);
  }
}

/** Tells why a connection failed, without the path and query, which may hold secrets. */
export function connectionFailure(error: unknown, url: string, signal?: AbortSignal | null): unknown {
  if (signal?.aborted && (error as Error).name === 'AbortError') return error;
  const { origin } = new URL(url);
  return new Failure('unreachable', `${origin} cannot be reached: ${reasonOf(error)}.`, { isTransient: true });
}

function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error & { cause?: Error & { code?: string; errors?: { code?: string }[] } };
  if (name === 'TimeoutError') return 'it did not answer in time';
  const code = cause?.code ?? cause?.errors?.[0]?.code ?? '';
  return REASONS[code] ?? (cause?.message || message).replace(/\.$/, '');
}

import type { FastifyRequest } from 'fastify';
import type { Authentication } from './authentication.ts';

type Identify = Pick<Authentication, 'identify'>;

/** Requests whose bodies hadn't arrived completely when their callers were identified. */
const late = new WeakSet<FastifyRequest>();

/** Identifies a request's caller, before the body is read. */
export async function identifyCaller(request: FastifyRequest, { identify }: Identify): Promise<void> {
  request.viewer = await identify(request.headers.authorization, request.ip);
  if (!request.raw.complete) late.add(request);
}

/**
 * Call this once the body has arrived. A client can take 30 s or longer to send it, and in the meantime, the credential
 * may have been revoked, or the person's role may have changed.
 *
 * @throws AppError the same errors as `identify`.
 */
export async function identifyAgainIfLate(request: FastifyRequest, { identify }: Identify): Promise<void> {
  if (late.has(request)) request.viewer = await identify(request.headers.authorization, request.ip);
}

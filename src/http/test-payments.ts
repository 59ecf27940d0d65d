import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { EgressError } from '../egress/egress-error.ts';
import { AppError } from '../errors.ts';
import { parseInput } from '../validation.ts';
import type { Authentication } from './authentication.ts';
import { requireDirectCall } from './local-name.ts';

/** What the sandbox's `pay` does. */
type Pay = (request: { url: string; method: string; body?: string }) => Promise<object>;

const bodySchema = z.strictObject({
  /** Relative to this server, so no other server can get a payment. */
  path: z
    .string()
    .max(2_000)
    .refine(isInGateway, 'Must start with /gateway/ and a project ID, and must not leave that path.'),
  method: z.string().regex(/^[A-Z]{1,20}$/, 'Must be an HTTP method in uppercase.'),
  body: z
    .string()
    .max(64 * 1024, 'Must be at most 64 KB.')
    .optional(),
});

/** A prefix that, on this server, only the paths of a single project's endpoints have. */
const PROJECT_PREFIX = /^\/gateway\/(proj_[0-9a-z]+)\//;

/**
 * Whether a path leads to the gateway of the project that it names. `new URL` resolves `..`, even if it is encoded or
 * contains line breaks, and turns backslashes into slashes, so only its result counts.
 */
export function isInGateway(path: string): boolean {
  const prefix = PROJECT_PREFIX.exec(path)?.[0];
  if (prefix === undefined) return false;
  const { origin, pathname } = new URL(path, ORIGIN);
  return origin === ORIGIN && pathname.startsWith(prefix);
}

const ORIGIN = 'http://127.0.0.1';

/**
 * Lets the console buy from this server's own endpoints with the sandbox's test money. Use this only on
 * development servers that listen on loopback.
 *
 * @throws AppError `UNAUTHENTICATED` without a credential, `FORBIDDEN` through another host name,
 *   `VALIDATION_FAILED`, and `UNAVAILABLE` if this server doesn't respond.
 */
export function registerTestPayments(app: FastifyInstance, authentication: Authentication, pay: Pay): void {
  app.post('/console/test-payments', { config: { cors: false } }, async (request) => {
    requireDirectCall(request);
    await authentication.identify(request.headers.authorization, request.ip);
    const { path, method, body } = parseInput(bodySchema, request.body);
    const { port } = app.server.address() as AddressInfo;
    const url = new URL(path, `http://127.0.0.1:${port}`);
    return pay({ url: url.href, method, ...(body !== undefined && { body }) }).catch((error) => {
      if (error instanceof EgressError) throw new AppError('UNAVAILABLE', { detail: error.message });
      throw error;
    });
  });
}

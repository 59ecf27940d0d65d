import type { FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import { isDefaultDomain } from './routing/public-address.ts';
import { splitTarget } from './routing/split-target.ts';

/**
 * The paths that certificate authorities request as a proof that someone controls a name (RFC 8555 §8.3, and
 * https://cabforum.org/working-groups/server/baseline-requirements/requirements/, section 3.2.2.4.18). They don't
 * request other spellings of these paths.
 */
const PROOFS = /^\/\.well-known\/(?:acme-challenge|pki-validation)\//;

const DETAIL =
  'Certificates can only be requested for a project’s custom domain. Other addresses belong to the operator, and a name can pass to another seller.';

/**
 * Rejects a request for such a proof at a name under the operator's domain. Otherwise, a seller could get a certificate
 * for the name that is valid for longer than the name stays reserved. Together with control over a buyer's connection,
 * the seller could then respond in place of the next project that gets the name, with other payment terms. The operator's
 * proxy can still respond to such requests itself.
 *
 * @param gatewayDomain the operator's domain for projects, if there is one.
 * @throws AppError `NOT_FOUND`
 */
export function refuseCertificateProofs(request: FastifyRequest, gatewayDomain: string | undefined): void {
  if (!isDefaultDomain(request, gatewayDomain)) return;
  if (PROOFS.test(splitTarget(request.raw.url ?? '').rest)) throw new AppError('NOT_FOUND', { detail: DETAIL });
}

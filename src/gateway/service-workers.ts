import type { FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import { isDefaultDomain, isHostMapped } from './routing/public-address.ts';

const DETAIL =
  'Service workers can only be installed from a project’s custom domain. Other addresses belong to the operator, and a name can pass to another seller.';

/**
 * Rejects a browser's request for the script of a service worker, unless the address is a project's custom domain. A
 * service worker stays in browsers until it is replaced: it would respond in place of the next project that gets the name,
 * with its own payment terms, and would read what buyers send. Browsers mark the request, and no page can leave that out:
 * https://www.w3.org/TR/service-workers/#service-worker-script-request
 *
 * @param gatewayDomain the operator's domain for projects, if there is one.
 * @throws AppError `NOT_FOUND`
 */
export function refuseServiceWorkers(request: FastifyRequest, gatewayDomain: string | undefined): void {
  if (request.headers['service-worker'] === undefined) return;
  if (!isHostMapped(request) || isDefaultDomain(request, gatewayDomain)) {
    throw new AppError('NOT_FOUND', { detail: DETAIL });
  }
}

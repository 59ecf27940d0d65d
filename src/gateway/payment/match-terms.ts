import type { FacilitatorRequest } from '../chain/facilitator.ts';
import type { Network } from '../chain/networks.ts';
import type { Route } from '../routing/route-table.ts';
import type { PresentedPayment } from './payment-header.ts';
import {
  acceptedPrices,
  MAX_LIFE_SECONDS,
  MIN_LIFE_SECONDS,
  type Resource,
  requirementsV1,
  requirementsV2,
  SCHEME,
} from './terms.ts';

const EXPIRED = 'invalid_exact_evm_payload_authorization_valid_before';

/**
 * Why a payment does not meet the terms of a route as they are, or were until a moment ago. What is signed is what counts;
 * what the client says it accepted must not contradict it.
 *
 * @returns the error code for the client, one of x402 where it has one; undefined when the terms are met.
 */
export function unmetTerm(network: Network, route: Route, payment: PresentedPayment, now: Date): string | undefined {
  const { authorization, accepted, x402Version } = payment;
  const seconds = Math.floor(now.getTime() / 1000);
  const expectedNetwork = x402Version === 2 ? network.id : network.v1Name;
  if (payment.network !== expectedNetwork) return 'invalid_network';
  if (accepted && !same(accepted.asset, network.asset.address)) return 'invalid_asset';
  if (!same(authorization.to, route.payTo) || (accepted && !same(accepted.payTo, route.payTo))) {
    return 'invalid_exact_evm_payload_recipient_mismatch';
  }
  if (!acceptedPrices(route, now).includes(authorization.value)) {
    return 'invalid_exact_evm_payload_authorization_value_mismatch';
  }
  if (accepted && accepted.amount !== authorization.value.toString()) {
    return 'invalid_exact_evm_payload_authorization_value_mismatch';
  }
  if (authorization.validAfter > seconds) return 'invalid_exact_evm_payload_authorization_valid_after';
  if (authorization.validBefore < seconds + MIN_LIFE_SECONDS) return EXPIRED;
  // What lives longer than asked would keep an unresolved payment open just as long.
  if (authorization.validBefore > seconds + MAX_LIFE_SECONDS) return 'authorization_lives_too_long';
  return undefined;
}

/**
 * What the facilitator is asked about a payment: made anew of what was understood, so that nothing the client sent besides
 * can mean something to it.
 */
export function facilitatorRequest(
  network: Network,
  route: Route,
  resource: Resource,
  payment: PresentedPayment,
): FacilitatorRequest {
  const { from, to, value, validAfter, validBefore, nonce } = payment.authorization;
  const payload = {
    signature: payment.signature,
    authorization: {
      from,
      to,
      value: value.toString(),
      validAfter: String(validAfter),
      validBefore: String(validBefore),
      nonce,
    },
  };
  if (payment.x402Version === 1) {
    const paymentPayload = { x402Version: 1, scheme: SCHEME, network: network.v1Name, payload };
    const paymentRequirements = requirementsV1(network, route, value, resource);
    return { x402Version: 1, paymentPayload, paymentRequirements };
  }
  const paymentRequirements = requirementsV2(network, route, value);
  const paymentPayload = { x402Version: 2, resource, accepted: paymentRequirements, payload };
  return { x402Version: 2, paymentPayload, paymentRequirements };
}

function same(first: string, second: string): boolean {
  return first.toLowerCase() === second.toLowerCase();
}

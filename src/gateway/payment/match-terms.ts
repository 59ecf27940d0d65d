import type { FacilitatorRequest } from '../chain/facilitator.ts';
import type { Network } from '../chain/networks.ts';
import type { PaidRoute } from '../routing/route-table.ts';
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
 * Checks a payment against a route's current terms, and against earlier prices for a short time after a change.
 * Only what was signed counts, and what the client says it accepted must not contradict that.
 *
 * @returns an error code for the client (from x402 where it defines one), or undefined if the terms are met.
 */
export function unmetTerm(
  network: Network,
  route: PaidRoute,
  payment: PresentedPayment,
  now: Date,
): string | undefined {
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
  // If an authorization lived longer than requested, an unresolved payment would stay open just as long.
  if (authorization.validBefore > seconds + MAX_LIFE_SECONDS) return 'authorization_lives_too_long';
  return undefined;
}

/**
 * Builds the facilitator's request from the fields that we understood, so nothing else the client sent can affect the
 * facilitator.
 */
export function facilitatorRequest(
  network: Network,
  route: PaidRoute,
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

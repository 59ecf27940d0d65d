import type { FacilitatorRequest } from '../chain/facilitator.ts';
import type { Network } from '../chain/networks.ts';
import { type Declarations, fittingDeclaration } from '../discovery/declaration.ts';
import type { PaidRoute } from '../routing/load-routes.ts';
import { refusedBuyer } from './buyer-rules.ts';
import type { PresentedPayment } from './payment-header.ts';
import {
  acceptedPrices,
  MAX_LIFE_SECONDS,
  minLifeSeconds,
  type Resource,
  requirementsV1,
  requirementsV2,
  SCHEME,
} from './terms.ts';

const EXPIRED = 'invalid_exact_evm_payload_authorization_valid_before';

/**
 * Checks a payment, made for this network, against a route's current terms and the wallets that may pay, and against
 * earlier prices for a short time after a change. Only what was signed counts, and what the client says it accepted must not contradict that.
 *
 * @returns an error code for the client (from x402 where it defines one), or undefined if the terms are met.
 */
export function unmetTerm(
  network: Network,
  route: PaidRoute,
  payment: PresentedPayment,
  now: Date,
): string | undefined {
  const { authorization, accepted } = payment;
  const seconds = Math.floor(now.getTime() / 1000);
  const refused = refusedBuyer(route.buyers, authorization.from);
  if (refused) return refused;
  if (!route.networks.includes(network)) return 'invalid_network';
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
  if (authorization.validBefore < seconds + minLifeSeconds(route)) return EXPIRED;
  // An unresolved payment stays open until its authorization expires, so the authorization must not last longer than
  // requested.
  if (authorization.validBefore > seconds + MAX_LIFE_SECONDS) return 'authorization_lives_too_long';
  return undefined;
}

/** A larger declaration could make a facilitator reject the payment. */
const MAX_DECLARATION_BYTES = 16_384;

/**
 * Builds the facilitator's request from the fields that we understood, so nothing else the client sent can affect the
 * facilitator.
 *
 * @param declarations how to call the endpoint, for the facilitator's catalog. Optional.
 */
export function facilitatorRequest(
  network: Network,
  route: PaidRoute,
  resource: Resource,
  payment: PresentedPayment,
  declarations?: Declarations,
): FacilitatorRequest {
  const declaration = declarations && fittingDeclaration(declarations, MAX_DECLARATION_BYTES);
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
    const paymentPayload = { x402Version: 1, scheme: SCHEME, network: payment.network, payload };
    const paymentRequirements = requirementsV1(
      network,
      route,
      value,
      resource,
      declaration && JSON.parse(declaration.outputSchema),
    );
    return { x402Version: 1, paymentPayload, paymentRequirements };
  }
  const paymentRequirements = requirementsV2(network, route, value);
  const extensions = declaration && { extensions: { bazaar: declaration.bazaar } };
  const paymentPayload = { x402Version: 2, resource, accepted: paymentRequirements, payload, ...extensions };
  return { x402Version: 2, paymentPayload, paymentRequirements };
}

function same(first: string, second: string): boolean {
  return first.toLowerCase() === second.toLowerCase();
}

/** What happened to a payment, by reason code. Facilitators also have their own codes. */
const SENTENCES: Readonly<Record<string, string>> = {
  authorization_canceled: 'The buyer canceled the authorization',
  authorization_expired: 'The authorization expired before it was settled',
  authorization_used_elsewhere: 'The buyer used the authorization for something else',
  buyer_gone: 'The buyer disconnected',
  buyer_limit_reached: 'The buyer reached the project’s limit',
  buyer_slow: 'The buyer took too long to send the request',
  facilitator_response_invalid: 'The facilitator’s response was unusable',
  facilitator_rejected: 'The facilitator rejected the gateway’s request',
  facilitator_unavailable: 'The facilitator wasn’t available',
  gateway_busy: 'The gateway didn’t have enough memory for the response',
  funds_in_use: 'The wallet’s money was tied up in other payments',
  insufficient_funds: 'The wallet didn’t have enough money',
  interrupted: 'The gateway was interrupted',
  invalid_exact_evm_insufficient_balance: 'The wallet didn’t have enough money',
  invalid_exact_evm_payload_authorization_valid_after: 'The authorization wasn’t valid yet',
  invalid_exact_evm_payload_authorization_valid_before: 'The authorization had expired',
  invalid_exact_evm_nonce_already_used: 'The authorization was already used',
  invalid_exact_evm_payload_signature: 'The signature was invalid',
  invalid_exact_evm_signature: 'The signature was invalid',
  invalid_exact_evm_transaction_failed: 'The transaction failed on the chain',
  invalid_exact_evm_transaction_simulation_failed: 'The transaction would have failed on the chain',
  network_not_served: 'The server no longer supports the payment’s network',
  request_invalid: 'The request couldn’t be forwarded',
  settlement_failed: 'The facilitator didn’t settle the payment',
  tool_error: 'The tool returned an error',
  upstream_response_invalid: 'Your API’s response was unusable',
  upstream_response_too_large: 'Your API’s response was too large',
  upstream_error: 'Your API responded with an error',
  upstream_redirect: 'Your API responded with a redirect',
  upstream_timeout: 'Your API took too long',
  upstream_unreachable: 'Your API couldn’t be reached',
  verification_failed: 'The facilitator rejected the payment',
};

/** A short sentence, without a period, that says what a code means. Undefined for a facilitator's own codes. */
export function reasonSentence(code: string): string | undefined {
  return Object.hasOwn(SENTENCES, code) ? SENTENCES[code] : undefined;
}

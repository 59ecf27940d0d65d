import type { ErrorCode } from '../src/errors.ts';

/** Shown on the error page next to the message: when the error happens, and what to do. */
export const ERROR_ADVICE: Record<ErrorCode, string> = {
  BAD_REQUEST: 'The request line, a header or the path is malformed. Fix the request before you send it again.',
  MALFORMED_JSON: 'The request body is not JSON, not UTF-8, or nested more than 64 levels deep.',
  GRAPHQL_INVALID:
    'A syntax error, an unknown field or argument, or a variable of the wrong type. The message names it, and ' +
    '`locations` shows where it is.',
  GRAPHQL_TOO_COMPLEX:
    'The document exceeds a [limit](limits.md#graphql-documents); the message says which. `extensions.cost` in ' +
    'every response shows what a document costs.',
  PAYMENT_MALFORMED:
    '`PAYMENT-SIGNATURE` or `X-PAYMENT` is not base64-encoded JSON, or one of its fields is missing or wrong: ' +
    '`detail` names it. See [the gateway](gateway.md).',
  UNAUTHENTICATED:
    'The credential is missing or was rejected: `detail` says why (expired, wrong audience, revoked, mistyped). ' +
    'Get a new one; see [authentication](authentication.md).',
  FORBIDDEN:
    'An API key tried something that only people can do: create or delete a project, change its `walletAddress` ' +
    'or `gatewayHost`, create or revoke a key. Use a user token of the owner.',
  CONNECTOR_LIMIT_REACHED: 'The limit counts the connectors of all projects in the account; see [limits](limits.md).',
  WEBHOOK_LIMIT_REACHED:
    'The limit counts the webhooks of each project, including disabled ones; see [limits](limits.md).',
  NOT_FOUND:
    'The resource does not exist, was deleted, or belongs to someone else; the response is the same in each case. ' +
    'Unknown paths get it too.',
  METHOD_NOT_ALLOWED: 'The `Allow` header lists the methods of the path.',
  NOT_ACCEPTABLE:
    '`/graphql` responds with `application/json`, `application/graphql-response+json` and, for subscriptions, ' +
    '`text/event-stream`.',
  REQUEST_TIMEOUT: 'The whole request must arrive within 30 seconds.',
  CONFLICT:
    'Another endpoint of the project has this path, another project has this `gatewayHost`, five replays are ' +
    'running, or the delivery to resend is being sent right now: `detail` says which. Read the current state, ' +
    'then decide.',
  HOST_RESERVED:
    'A released host name stays reserved for its account for 30 days, because buyers may still pay through it: ' +
    '`detail` says until when. If it is yours, take it back with the account that released it.',
  IDEMPOTENCY_IN_FLIGHT: 'Wait for `Retry-After`, then retry the same request. You get the response to the first one.',
  PAYMENT_IN_PROGRESS:
    'Wait for `Retry-After`, then retry the same request with the same payment. You get the response to the first ' +
    'one.',
  PAYMENT_REUSED:
    'An authorization pays for one request: the same project, method, path, query and body, from the address or ' +
    'with the `Idempotency-Key` of the first request.',
  PAYMENT_ANSWER_GONE:
    'Responses are stored for a day, large ones for an hour. The `PAYMENT-RESPONSE` header has the transaction.',
  PAYLOAD_TOO_LARGE: 'Request bodies can be up to 256 KiB; on paid routes, up to 10 MB.',
  UNSUPPORTED_MEDIA_TYPE: 'Only uncompressed `application/json` is accepted.',
  VALIDATION_FAILED:
    '`errors` lists the invalid fields, each with its JSON pointer (`/priceUsd`) and what it must be. `detail` ' +
    'names the first one. Missing, unknown and mistyped fields are reported before invalid values. Nothing was ' +
    'changed.',
  IDEMPOTENCY_KEY_REUSED:
    'The key was sent before with another method, path or body. Create a new key for every operation.',
  RATE_LIMITED:
    'Too many requests or open streams, or too many rejected credentials from one address. Wait for `Retry-After` ' +
    'if the response has it.',
  FUNDS_IN_USE:
    'Every payment in progress needs its amount in the wallet until it settles. Wait for `Retry-After`, send ' +
    'fewer requests at once, or add funds to the wallet.',
  HEADERS_TOO_LARGE: 'The request line and headers can be up to 16 KiB in total.',
  INTERNAL:
    'A bug or failure in this service. It is logged with the `requestId` of the response; include that when you ' +
    'report it.',
  OUTCOME_UNCERTAIN:
    'The request took longer than 10 s after it had made some changes, or the database connection was lost during ' +
    'a write. Changes in `data` of a GraphQL response were applied. Nothing continues to run.',
  UPSTREAM_FAILED:
    'The seller’s API cannot be reached, closed the connection, redirected, or sent more than 10 MB. To retry, ' +
    'sign a new payment.',
  UPSTREAM_TIMEOUT:
    'The seller’s API has 60 seconds, or less if the authorization expires sooner. To retry, sign a new payment.',
  FACILITATOR_UNAVAILABLE:
    'The facilitator that verifies payments cannot be reached or gave no usable response. You can retry with the ' +
    'same payment.',
  PAYMENT_UNRESOLVED:
    'The settlement was sent, but its outcome is unknown. Retry the same request with the same payment: once the ' +
    'chain shows the outcome, you get the response, or 402 if nothing was charged. A new payment could charge ' +
    'twice.',
  UNAVAILABLE:
    'The database cannot be reached or accepts no changes right now, the keys of a token issuer cannot be ' +
    'fetched, or a query took longer than 10 s. Wait for `Retry-After` if the response has it.',
};

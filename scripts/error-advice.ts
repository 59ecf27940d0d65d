import type { ErrorCode } from '../src/errors.ts';

/** Shown on the error page next to the message: when the error happens, and what to do. */
export const ERROR_ADVICE: Record<ErrorCode, string> = {
  BAD_REQUEST: 'The request line, a header, or the path is malformed. Fix the request before you send it again.',
  MALFORMED_JSON: 'The request body is not JSON, not UTF-8, or nested more than 64 levels deep.',
  GRAPHQL_INVALID:
    'The document has a syntax error, an unknown field or argument, or a variable of the wrong type. ' +
    'The message names it, and `locations` shows where it is.',
  GRAPHQL_TOO_COMPLEX:
    'The document exceeds a [limit](limits.md#graphql-documents); the message says which. `extensions.cost` in ' +
    'every response shows what a document costs.',
  PAYMENT_MALFORMED:
    '`PAYMENT-SIGNATURE` or `X-PAYMENT` is not base64-encoded JSON, or one of its fields is missing or invalid: ' +
    '`detail` names it. See [the gateway](gateway.md).',
  UNAUTHENTICATED:
    'The credential is missing or was rejected: `detail` says why (expired, wrong audience, revoked, mistyped). ' +
    'Get a new one; see [authentication](authentication.md).',
  FORBIDDEN:
    'API keys cannot create or delete a project, change its `walletAddress` ' +
    'or `gatewayHost`, or create or revoke an API key. Use the project owner’s user token.',
  CONNECTOR_LIMIT_REACHED:
    'The limit applies to connectors across all projects in the account; see [limits](limits.md).',
  WEBHOOK_LIMIT_REACHED:
    'The limit applies to the webhooks in each project, including disabled ones; see [limits](limits.md).',
  NOT_FOUND:
    'The resource does not exist, was deleted, or belongs to someone else; the response is the same in each case. ' +
    'Unknown paths return the same error.',
  METHOD_NOT_ALLOWED: 'The `Allow` header lists the methods that the path supports.',
  NOT_ACCEPTABLE:
    '`/graphql` responds with `application/json` or `application/graphql-response+json`, or with ' +
    '`text/event-stream` for subscriptions.',
  REQUEST_TIMEOUT: 'The whole request must arrive within 30 seconds.',
  CONFLICT:
    'Another endpoint in the project has this path, another project has this `gatewayHost`, your account has too ' +
    'many reserved host names, five replays are running, or the delivery to resend is being sent right now: ' +
    '`detail` says which. Check the current state before you retry.',
  HOST_RESERVED:
    'A released host name stays reserved for its account for 30 days, because buyers may still use it. ' +
    '`detail` says when the reservation ends. The account that released it can set it again at any time.',
  IDEMPOTENCY_IN_FLIGHT:
    'Wait as long as `Retry-After` says, then retry the same request to get the original response. If the first request ' +
    'failed with a 5xx status, its key stays in use for a minute. After that, a retry runs the request again.',
  PAYMENT_IN_PROGRESS:
    'Wait as long as `Retry-After` says, then retry the same request with the same payment to get the original ' +
    'response.',
  PAYMENT_REUSED:
    'An authorization pays for one request. A retry must have the same project, method, path, query, and body, and ' +
    'come from the same address or have the same `Idempotency-Key`.',
  PAYMENT_ANSWER_GONE:
    'Responses are stored for a day, or for an hour if they are large. The `PAYMENT-RESPONSE` header has the ' +
    'transaction.',
  PAYLOAD_TOO_LARGE: 'Request bodies can be up to 256 KiB; on paid routes, up to 10 MB.',
  UNSUPPORTED_MEDIA_TYPE: 'Only uncompressed `application/json` is accepted.',
  VALIDATION_FAILED:
    '`errors` lists the invalid fields, each with its JSON pointer (such as `/priceUsd`) and what is wrong with it. ' +
    '`detail` names the first one. Missing fields, unknown fields, and wrong types are reported before invalid values. Nothing ' +
    'was changed.',
  IDEMPOTENCY_KEY_REUSED:
    'The key was already used with a different method, path, or body. Use a new key for every operation.',
  RATE_LIMITED:
    'There were too many requests or open streams, or too many rejected credentials from one address. If the ' +
    'response has `Retry-After`, wait that long.',
  FUNDS_IN_USE:
    'The wallet must hold enough for every payment in progress until it settles. Wait as long as `Retry-After` ' +
    'says, send fewer requests in parallel, or add funds to the wallet.',
  HEADERS_TOO_LARGE: 'The request line and headers can be up to 16 KiB in total.',
  INTERNAL:
    'Something went wrong in this service. The failure is logged with the response’s `requestId`; include that ID ' +
    'when you report the failure.',
  OUTCOME_UNCERTAIN:
    'The request hit its 10-second limit after making some changes, or the database connection was lost during a ' +
    'write. Changes that appear in a GraphQL response’s `data` were applied. Nothing is still running.',
  UPSTREAM_FAILED:
    'The seller’s API cannot be reached, closed the connection, returned a redirect, or sent more than 10 MB. To ' +
    'retry, sign a new payment.',
  UPSTREAM_TIMEOUT:
    'The seller’s API has 60 seconds to respond, or less if the authorization expires sooner. To retry, sign a ' +
    'new payment.',
  FACILITATOR_REJECTED:
    'The facilitator that verifies and settles payments rejects the gateway’s credentials, address, or requests. ' +
    'Neither retrying nor signing a new payment helps. Tell the seller. The operator can find the facilitator’s message in the log.',
  FACILITATOR_UNAVAILABLE:
    'The facilitator that verifies payments cannot be reached or did not return a usable response. You can retry ' +
    'with the same payment.',
  PAYMENT_UNRESOLVED:
    'The settlement was sent, but its outcome is unknown. Retry the same request with the same payment: once the ' +
    'chain shows the outcome, you get the response, or 402 if nothing was charged. A new payment could charge ' +
    'twice.',
  UNAVAILABLE:
    'The database cannot be reached or is not accepting changes, the keys of a token issuer cannot be fetched, or ' +
    'a query took longer than 10 s. If the response has `Retry-After`, wait that long.',
};

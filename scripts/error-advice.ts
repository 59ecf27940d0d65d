import type { ErrorCode } from '../src/errors.ts';

/** Shown on the error page next to the message: when the error happens, and what to do. */
export const ERROR_ADVICE: Record<ErrorCode, string> = {
  BAD_REQUEST: 'The request line, a header, or the path is malformed. Fix the request before you send it again.',
  MALFORMED_JSON:
    'The request body, or `variables` or `extensions` in the query of a GraphQL `GET`, is not JSON, not UTF-8, or nested more than 64 levels deep. ' +
    '`detail` says where the JSON breaks.',
  GRAPHQL_INVALID:
    'The document has a syntax error, an unknown field or argument, or a variable of the wrong type. ' +
    'The message names it, and `locations` shows where it is.',
  GRAPHQL_TOO_COMPLEX:
    'The document exceeds a [limit](limits.md#graphql-documents); the message says which. `extensions.cost` in ' +
    'every response shows what a document costs.',
  RESPONSE_TOO_LARGE:
    'Lower `first` or `limit`, or select fewer fields. If the request was a change, the change was made: don’t repeat it. ' +
    'Read its result instead.',
  PAYMENT_MALFORMED:
    '`PAYMENT-SIGNATURE` or `X-PAYMENT` is not base64-encoded JSON, or one of its fields is missing or invalid: ' +
    '`detail` names it. See [the gateway](gateway.md).',
  UNAUTHENTICATED:
    'The credential is missing or was rejected: `detail` says why (expired, wrong audience, revoked, mistyped). ' +
    'Get a new one; see [authentication](authentication.md).',
  RECENT_SIGN_IN_REQUIRED:
    'Have the person sign in again, and retry with the new token. The `max_age` in `WWW-Authenticate` says how recent the ' +
    'sign-in must be, in seconds; see [recent sign-in](authentication.md#recent-sign-in).',
  FORBIDDEN:
    '`detail` names the missing [scope](authentication.md#api-keys) or role. An API key’s scopes can’t be changed, so create another key. ' +
    'If `detail` names an address, the key works only from [other addresses](authentication.md#api-keys). Some actions require a user token, regardless of the key’s scopes: creating and deleting projects, changing where payments go, and managing API keys.',
  ACCOUNT_BLOCKED:
    '`detail` gives the operator’s reason. The account’s API keys get the same error, and its endpoints return 503 to ' +
    'buyers. Members of its projects get an error that names the owner. Nothing was deleted; see [blocked accounts](operators.md#blocked-accounts).',
  CONNECTOR_LIMIT_REACHED:
    'The limit applies to connectors across all projects in the account; see [limits](limits.md).',
  WEBHOOK_LIMIT_REACHED:
    'The limit applies to the webhooks in each project, including disabled ones; see [limits](limits.md).',
  PROJECT_LIMIT_REACHED:
    'An account can have up to 200 projects on every tier, including copies and projects that others transferred to it. ' +
    'Projects that others share with it don’t count; see [limits](limits.md).',
  ENDPOINT_LIMIT_REACHED:
    'A project can have up to 1,000 endpoints on every tier, including disabled ones; see [limits](limits.md).',
  API_KEY_LIMIT_REACHED:
    'A project can have up to 100 API keys on every tier. Keys that are revoked or have expired don’t count; see [limits](limits.md).',
  REPLAY_LIMIT_REACHED:
    'The limit applies to the deliveries in replays of all projects in the account, and refills evenly over 24 hours; see ' +
    '[limits](limits.md#by-tier). `detail` says how many are left. Narrow the filter, for example, with `from` and `to`.',
  SCHEMA_LIMIT_REACHED:
    'Each `inputSchema` and `exampleResponse` over 1 KB counts when you create, change, import, or copy endpoints; see ' +
    '[limits](limits.md#stored-schemas). The limit refills evenly over 24 hours. `detail` says how long to wait.',
  NOT_FOUND:
    'The resource does not exist, was deleted, or belongs to someone else; the response is the same in each case. ' +
    'Unknown paths return the same error.',
  METHOD_NOT_ALLOWED:
    'The `Allow` header lists the methods that the path supports. Paid routes support the methods of their ' +
    '[endpoints](gateway.md#choose-methods).',
  NOT_ACCEPTABLE:
    '`/graphql` responds with `application/json` or `application/graphql-response+json`, or with ' +
    '`text/event-stream` for subscriptions.',
  REQUEST_TIMEOUT: 'The entire request must arrive within 30 seconds.',
  CONFLICT:
    'Another endpoint in the project has this path and one of these methods, another project has this `gatewayHost`, your account has too ' +
    'many reserved domains, five replays are running, or the delivery to resend is being sent right now: ' +
    '`detail` says which. Check the current state before you retry.',
  HOST_RESERVED:
    'A released domain stays reserved for its account for 30 days, because buyers may still use it. ' +
    '`detail` says when the reservation ends. The account that released it can set it again at any time.',
  IDEMPOTENCY_IN_FLIGHT:
    'Wait the number of seconds in `Retry-After`, then retry the same request to get the original response. If the first request ' +
    'failed with a 5xx status, its key stays in use for a minute. After that, a retry runs the request again if it changed nothing.',
  IDEMPOTENCY_RESPONSE_NOT_STORED:
    'The request is not run again. Responses over 256 KB are not stored, and neither are those over 4 KB once your account has ' +
    'stored 64 MB of them in a day. In GraphQL, select fewer fields in mutations. If the server stopped before it could respond, a ' +
    'request with several changes may have made only some of them.',
  PAYMENT_IN_PROGRESS:
    'Wait the number of seconds in `Retry-After`, then retry the same request with the same payment to get the original ' +
    'response.',
  PAYMENT_REUSED:
    'An authorization pays for one request. A retry must have the same project, method, path, query, and body, and ' +
    'come from the same address or have the same `Idempotency-Key`. A payment identifier also belongs to a single request.',
  PAYMENT_RESPONSE_GONE:
    'Responses are stored for a day, or for an hour if they are large. Streamed responses are not stored. The ' +
    '`PAYMENT-RESPONSE` header contains the transaction.',
  PAYLOAD_TOO_LARGE:
    'Request bodies can be up to 256 KiB, not counting an imported OpenAPI document, and can have up to 5,000 values. On ' +
    'paid routes, they can be up to 10 MB.',
  UNSUPPORTED_MEDIA_TYPE:
    'Only uncompressed `application/json` is accepted. If the body is empty, its type doesn’t matter.',
  VALIDATION_FAILED:
    '`errors` lists up to 100 invalid fields, each with its JSON pointer (such as `/priceUsd`) and what is wrong with it. ' +
    '`detail` names the first one. Missing fields, unknown fields, and wrong types are reported before invalid values. Nothing ' +
    'was changed.',
  IDEMPOTENCY_KEY_REUSED:
    'The key was already used with a different method, path, or body. Use a new key for every operation.',
  RATE_LIMITED:
    'There were too many requests or open streams, or too many rejected credentials from one address. If the ' +
    'response has `Retry-After`, wait that long.',
  FUNDS_IN_USE:
    'The wallet must hold enough to cover all payments in progress. Wait the number of seconds in `Retry-After`, ' +
    'send fewer requests in parallel, or add funds to the wallet.',
  HEADERS_TOO_LARGE: 'The request line and headers can be up to 16 KiB in total.',
  INTERNAL:
    'Something went wrong in this service. The failure is logged with the response’s `requestId`; include that ID ' +
    'when you report the failure.',
  OUTCOME_UNCERTAIN:
    'The request hit its 10-second limit after making some changes, or the database connection was lost during a ' +
    'write. Changes that appear in a GraphQL response’s `data` were applied. The request is no longer running.',
  UPSTREAM_FAILED:
    'The seller’s API cannot be reached, closed the connection, returned a redirect, or sent more than 10 MB. To ' +
    'retry, sign a new payment. If `detail` says that you were charged, send the same payment again instead.',
  UPSTREAM_TIMEOUT:
    'The seller’s API must respond within 60 seconds, or the limit set by the seller, and before the ' +
    'authorization expires. To retry, sign a new payment. If `detail` says that you were charged, send the ' +
    'same payment again instead.',
  FACILITATOR_REJECTED:
    'The facilitator that verifies and settles payments rejects the gateway’s credentials, address, or requests. ' +
    'Retrying or signing a new payment won’t help. Tell the seller. The operator can find the facilitator’s message in the log.',
  FACILITATOR_UNAVAILABLE:
    'The facilitator that verifies payments cannot be reached or did not return a usable response. You can retry ' +
    'with the same payment.',
  PAYMENT_UNRESOLVED:
    'The settlement was sent, but its outcome is unknown. Retry the same request with the same payment: once the ' +
    'chain shows the outcome, you get the response, or 402 if nothing was charged. A new payment could charge ' +
    'twice.',
  UNAVAILABLE:
    'The database cannot be reached or is not accepting changes, a token issuer’s keys cannot be fetched, or ' +
    'a query took longer than 10 s. If the response has `Retry-After`, wait that long.',
};

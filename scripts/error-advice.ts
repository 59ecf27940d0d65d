import type { ErrorCode } from '../src/errors.ts';

/** What the page on errors says beside the catalogue's own sentence: when it happens, and what to do. */
export const ERROR_ADVICE: Record<ErrorCode, string> = {
  BAD_REQUEST: 'The request line, a header or the path cannot be read. Send it again only after changing it.',
  MALFORMED_JSON: 'The body is no JSON, no UTF-8, or nested deeper than 64 levels.',
  GRAPHQL_INVALID:
    'Syntax, an unknown field or argument, or a variable of the wrong type. The message names it, `locations` the place.',
  GRAPHQL_TOO_COMPLEX:
    'Longer, deeper or dearer than [allowed](limits.md#graphql-documents); the message says by what. `extensions.cost` of every ' +
    'answer says what a document costs.',
  PAYMENT_MALFORMED:
    '`PAYMENT-SIGNATURE` or `X-PAYMENT` is not base64 of JSON, or a field in it is missing or misspelt: `detail` names it. ' +
    'See [the gateway](gateway.md).',
  UNAUTHENTICATED:
    'No credential, or one that is not accepted: `detail` says why (expired, wrong audience, revoked, mistyped). Get a ' +
    'new one; see [authentication](authentication.md).',
  FORBIDDEN:
    'An API key tried what only people may: create or delete a project, change its `walletAddress` or `gatewayHost`, create or ' +
    'revoke a key. Use a token of the owner.',
  CONNECTOR_LIMIT_REACHED: 'Counted over all projects of the account; see [limits](limits.md).',
  WEBHOOK_LIMIT_REACHED: 'Counted for each project, those that are off too; see [limits](limits.md).',
  NOT_FOUND:
    'It does not exist, has been deleted, or belongs to somebody else: these look the same. Also any unknown path.',
  METHOD_NOT_ALLOWED: 'The header `Allow` lists the methods of the path.',
  NOT_ACCEPTABLE:
    '`/graphql` answers `application/json`, `application/graphql-response+json` and, for subscriptions, `text/event-stream`.',
  REQUEST_TIMEOUT: 'A request must have arrived whole after 30 seconds.',
  CONFLICT:
    'Another endpoint of the project has this path, another project has this `gatewayHost`, five replays are running, or the ' +
    'delivery to resend is being sent at this moment: `detail` says which. Read the current state, then decide.',
  HOST_RESERVED:
    'A host name that a project lets go of stays reserved for its account for 30 days, since buyers may still pay under it: `detail` ' +
    'says until when. If it is yours, take it back with the account that released it.',
  IDEMPOTENCY_IN_FLIGHT: 'Wait for `Retry-After`, then send the same request again: it gets the first answer.',
  PAYMENT_IN_PROGRESS:
    'Wait for `Retry-After`, then repeat the request with the same payment: it gets the first answer.',
  PAYMENT_REUSED:
    'An authorization pays for one request: this project, method, path, query and body, from the address or with the ' +
    '`Idempotency-Key` that it was first sent with.',
  PAYMENT_ANSWER_GONE: 'Answers are kept for a day, large ones for an hour. `PAYMENT-RESPONSE` has the transaction.',
  PAYLOAD_TOO_LARGE: 'Bodies may have at most 256 KiB, those to paid routes 10 MB.',
  UNSUPPORTED_MEDIA_TYPE: 'Bodies are read as `application/json` only, and not compressed.',
  VALIDATION_FAILED:
    '`errors` lists the refused values, each with its JSON pointer (`/priceUsd`) and what it must be. Fields that are missing, not ' +
    'known or of another type come first; when there are none, the values. Nothing was changed.',
  IDEMPOTENCY_KEY_REUSED:
    'The key was sent before with another method, path or body. Make a new key for each thing you want done.',
  RATE_LIMITED:
    'Too many requests, open streams, or refused credentials from one address. Wait for `Retry-After` where it is given.',
  FUNDS_IN_USE:
    'Each payment in progress needs its amount in the wallet until it is settled. Wait for `Retry-After`, send fewer requests at ' +
    'once, or put more money into the wallet.',
  HEADERS_TOO_LARGE: 'The request line and the headers may have 16 KiB together.',
  INTERNAL: 'A fault of this service, logged under the `requestId` of the answer. Quote that when you report it.',
  OUTCOME_UNCERTAIN:
    'It took longer than 10 s and some of its changes had been made by then, or the connection to the database was lost while a ' +
    'change was written. What `data` of a GraphQL answer shows was done. Nothing of it goes on.',
  UPSTREAM_FAILED:
    'The seller’s API cannot be reached, broke off, redirects, or answers more than 10 MB. Sign a new payment to try again.',
  UPSTREAM_TIMEOUT:
    'The seller’s API has 60 seconds, less when the authorization ends sooner. Sign a new payment to try again.',
  FACILITATOR_UNAVAILABLE:
    'Whoever verifies payments cannot be reached or gives no usable answer. The same payment may be sent again.',
  PAYMENT_UNRESOLVED:
    'The settlement was sent and its result is not known. Repeat the same request with the same payment: once the chain ' +
    'tells, it gets the answer, or 402 when nothing was charged. Paying anew could charge twice.',
  UNAVAILABLE:
    'The database cannot be reached or takes no changes at this moment, the keys of a token issuer cannot be reached, or a ' +
    'query took longer than 10 s. Wait for `Retry-After` where it is given.',
};

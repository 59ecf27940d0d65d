import type { ErrorCode } from '../src/errors.ts';

/** What the page on errors says under "For example": something that is answered with the code. */
export const ERROR_EXAMPLES: Record<ErrorCode, string> = {
  BAD_REQUEST: '`GET /gateway/proj_…/a/../b`: a path that can be read in two ways.',
  MALFORMED_JSON: '`POST /api/projects` with the body `{"name": "Weather",}`.',
  GRAPHQL_INVALID: '`{ projects { title } }`: there is no such field.',
  GRAPHQL_TOO_COMPLEX: '`projects(first: 100)` with `deliveries(first: 100)` and their attempts in it.',
  PAYMENT_MALFORMED: 'The header `PAYMENT-SIGNATURE: hello`.',
  UNAUTHENTICATED: '`GET /api/projects` without the header `Authorization`.',
  FORBIDDEN: '`POST /api/projects/proj_…/keys` with an API key.',
  CONNECTOR_LIMIT_REACHED: '`POST /api/projects/proj_…/connectors` by a Starter, or the sixth one of a Pro.',
  NOT_FOUND: '`GET /api/projects/proj_…` with the id of somebody else’s project.',
  METHOD_NOT_ALLOWED: '`PUT /api/projects`: the answer has `Allow: GET, POST`.',
  REQUEST_TIMEOUT: 'A body of which half arrives, and the rest does not.',
  CONFLICT: '`POST /api/projects/proj_…/endpoints` with `{"path": "/weather", …}` for the second time.',
  IDEMPOTENCY_IN_FLIGHT: 'Two `POST`s with one `Idempotency-Key` at the same moment: the second one gets this.',
  PAYMENT_IN_PROGRESS: 'The client has given up after 5 s and asks again, while the upstream still works.',
  PAYMENT_REUSED: 'The payment for `/weather?city=Bern` is sent with `/weather?city=Rome`.',
  PAYMENT_ANSWER_GONE: 'A request is repeated with its payment two days later.',
  PAYLOAD_TOO_LARGE: '`POST /api/projects` with a body of 1 MB.',
  UNSUPPORTED_MEDIA_TYPE: '`curl -d name=Weather`, which sends `application/x-www-form-urlencoded`.',
  VALIDATION_FAILED:
    '`{"path": "/weather", "upstreamUrl": "http://10.0.0.1/", "priceUsd": "0"}`: two values are refused.',
  IDEMPOTENCY_KEY_REUSED: 'A program sends the same fixed key with everything it creates.',
  RATE_LIMITED: 'The 61st request of a Starter within a second.',
  HEADERS_TOO_LARGE: 'A cookie of 20 KB.',
  INTERNAL: 'A mistake in this service.',
  UPSTREAM_FAILED: 'The upstream’s certificate has expired.',
  FACILITATOR_UNAVAILABLE: 'The facilitator answers 503.',
  PAYMENT_UNRESOLVED: 'The connection to the facilitator broke while it settled.',
  UNAVAILABLE: 'The database is being restarted.',
  UPSTREAM_TIMEOUT: 'The upstream is a report that takes two minutes.',
};

import type { ErrorCode } from '../src/errors.ts';

/** Examples on the error page: requests and situations that cause each error. */
export const ERROR_EXAMPLES: Record<ErrorCode, string> = {
  BAD_REQUEST: '`GET /gateway/proj_…/a/../b`: an ambiguous path.',
  MALFORMED_JSON: '`POST /api/projects` with the body `{"name": "Weather",}`.',
  GRAPHQL_INVALID: '`{ projects { title } }`: the field does not exist.',
  GRAPHQL_TOO_COMPLEX: '`projects(first: 100)` with `deliveries(first: 100)` and their attempts.',
  RESPONSE_TOO_LARGE: '`endpoints(first: 100)` with thirty aliases of `exampleResponse`.',
  PAYMENT_MALFORMED: 'A `PAYMENT-SIGNATURE: hello` header.',
  UNAUTHENTICATED: '`GET /api/projects` without an `Authorization` header.',
  RECENT_SIGN_IN_REQUIRED:
    '`PATCH /api/projects/proj_…` with a different `walletAddress`, two hours after signing in, when `RECENT_SIGN_IN_SECONDS` is 900.',
  FORBIDDEN: '`POST /api/projects/proj_…/deliveries/dlv_…/resend` with an API key that has only `READ`.',
  ACCOUNT_BLOCKED: '`GET /api/projects` by a user that the operator has blocked.',
  CONNECTOR_LIMIT_REACHED:
    '`POST /api/projects/proj_…/connectors` from a Starter account, or a Pro account’s sixth connector.',
  WEBHOOK_LIMIT_REACHED: '`POST /api/projects/proj_…/webhooks` from a Starter account whose project has ten webhooks.',
  PROJECT_LIMIT_REACHED: '`POST /api/projects` from an account with 200 projects.',
  ENDPOINT_LIMIT_REACHED: '`POST /api/projects/proj_…/endpoints` for a project with 1,000 endpoints.',
  API_KEY_LIMIT_REACHED: '`POST /api/projects/proj_…/keys` for a project with 100 API keys.',
  REPLAY_LIMIT_REACHED:
    '`POST /api/projects/proj_…/replays` for 80,000 deliveries, from a Starter account that has replayed 50,000 today.',
  SCHEMA_LIMIT_REACHED:
    '`POST /api/projects/proj_…/copy` from a Starter account, for the fifth copy today of a project with 60 MB of examples.',
  NOT_FOUND: '`GET /api/projects/proj_…` with the ID of someone else’s project.',
  METHOD_NOT_ALLOWED: '`PUT /api/projects`: the response has `Allow: GET, HEAD, OPTIONS, POST`.',
  NOT_ACCEPTABLE: '`POST /graphql` with an `Accept: image/png` header.',
  REQUEST_TIMEOUT: 'Only half of the request body arrives.',
  CONFLICT: '`POST /api/projects/proj_…/endpoints` with `{"path": "/weather", …}` a second time.',
  HOST_RESERVED: '`PATCH /api/projects/proj_…` with a `gatewayHost` that someone else’s project had last week.',
  IDEMPOTENCY_IN_FLIGHT:
    'Two simultaneous `POST` requests with the same `Idempotency-Key`: the second one gets this error.',
  IDEMPOTENCY_RESPONSE_NOT_STORED:
    'A retry of a mutation that selected `exampleResponse` for all of the project’s endpoints.',
  PAYMENT_IN_PROGRESS: 'The client times out after 5 s and retries while the upstream is still working.',
  PAYMENT_REUSED: 'A payment for `/weather?city=Bern` is sent with a request for `/weather?city=Rome`.',
  PAYMENT_RESPONSE_GONE: 'A request is retried with the same payment two days later.',
  PAYLOAD_TOO_LARGE: '`POST /api/projects` with a 1 MB body.',
  UNSUPPORTED_MEDIA_TYPE: '`curl -d name=Weather`, which sends `application/x-www-form-urlencoded`.',
  VALIDATION_FAILED:
    '`{"path": "/weather", "upstreamUrl": "http://10.0.0.1/", "priceUsd": "-1"}`: two fields are invalid.',
  IDEMPOTENCY_KEY_REUSED: 'A program uses the same key for everything it creates.',
  RATE_LIMITED: 'The 61st request from a Starter account within a second.',
  FUNDS_IN_USE: 'Two simultaneous requests from a wallet with funds for only one.',
  HEADERS_TOO_LARGE: 'A 20 KB cookie.',
  INTERNAL: 'A bug in this service.',
  OUTCOME_UNCERTAIN: 'A document with twenty mutations, where the sixth one waits for another transaction.',
  UPSTREAM_FAILED: 'The upstream’s certificate has expired.',
  FACILITATOR_REJECTED: 'The facilitator returns 401, because the gateway’s key has expired.',
  FACILITATOR_UNAVAILABLE: 'The facilitator returns 503.',
  PAYMENT_UNRESOLVED: 'The connection to the facilitator was lost during settlement.',
  UNAVAILABLE: 'The database is being restarted.',
  UPSTREAM_TIMEOUT: 'The upstream takes two minutes to generate a report.',
};

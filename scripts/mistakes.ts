/** The kinds of resources that a request can create. The test has a valid body for each of them. */
export type Kind = 'project' | 'endpoint' | 'webhook' | 'connector';

/**
 * A request that people get wrong, and the response.
 *
 * Placeholders such as `{webhook}` are IDs. `…` in `detail` is text that the documentation leaves out. If `body` has the
 * field `…`, it also has the other fields of a valid body of that kind, except the ones that are undefined. A text is sent
 * unchanged.
 */
export type Mistake = {
  request: string;
  body?: unknown;
  detail: string;
  /** Who sends it, if it isn't the owner: an API key with the scope READ, or with all scopes. */
  caller?: 'reader' | 'writer';
};

type Row = [request: string, body: unknown, detail: string, caller?: Mistake['caller']];

const P = '/api/projects/{project}';
const OTHERS = 'See `errors` for the other invalid fields.';
const WALLET = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
const WRONG_PRICE =
  'Invalid priceUsd: must be a decimal string with at most 12 digits before the decimal point and 6 after it, for example, "0.01".';

const PATHS_AND_BODIES: Row[] = [
  ['GET /api/project', undefined, "This path doesn't exist. Did you mean `/api/projects`?"],
  ['POST /api/v1/projects/p/endpoint', {}, "This path doesn't exist. Did you mean `/api/projects/p/endpoints`?"],
  [`GET ${P}/webhooks/`, undefined, "This path doesn't exist. Did you mean `/api/projects/{project}/webhooks`?"],
  [`PUT ${P}`, { '…': 'project' }, 'This path does not support PUT. Use one of DELETE, GET, PATCH.'],
  [
    'POST /api/projects',
    '{"name": "Shop",}',
    'The request body is not valid JSON. There is a mistake at line 1, column 17: expected a field name in double quotes.',
  ],
  ['POST /api/projects', '{"name": "Shop"', 'The request body is not valid JSON. It ends too early.'],
  [`POST ${P}/endpoints`, [{ '…': 'endpoint' }], 'Invalid request body: must be a JSON object.'],
];

const FIELDS: Row[] = [
  ['POST /api/projects', {}, `\`name\` is required. ${OTHERS}`],
  [
    'POST /api/projects',
    { walletAddress: undefined, walletAdress: WALLET, '…': 'project' },
    `Unknown field \`walletAdress\`. Did you mean \`walletAddress\`? ${OTHERS}`,
  ],
  [
    `POST ${P}/endpoints`,
    { upstreamUrl: undefined, upstreamURL: 'https://api.example.com', '…': 'endpoint' },
    `Unknown field \`upstreamURL\`. Did you mean \`upstreamUrl\`? ${OTHERS}`,
  ],
  [
    'POST /api/projects',
    { walletAddress: undefined, wallet: WALLET, '…': 'project' },
    `Unknown field \`wallet\`. Did you mean \`walletAddress\`? ${OTHERS}`,
  ],
  [
    `POST ${P}/webhooks`,
    { eventTypes: undefined, events: ['*'], '…': 'webhook' },
    `Unknown field \`events\`. Did you mean \`eventTypes\`? ${OTHERS}`,
  ],
  [
    `POST ${P}/connectors`,
    { config: { webhookURL: 'https://hooks.slack.com/…' }, '…': 'connector' },
    `Unknown field \`config.webhookURL\`. Did you mean \`webhookUrl\`? ${OTHERS}`,
  ],
  [
    `PATCH ${P}`,
    { mode: 'TEST' },
    'Unknown field `mode`. The fields are contact, description, gatewayHost, iconUrl, milestonesUsd, name, networks, slug, timeZone, upstreamHeaders, walletAddress.',
  ],
  [
    `POST ${P}/endpoints`,
    { projectId: '{project}', '…': 'endpoint' },
    'Invalid projectId: omit this field. Its value is in the path.',
  ],
  [`PATCH ${P}/endpoints/{endpoint}`, { priceUsd: null }, 'Invalid priceUsd: must not be null.'],
];

const WALLETS: Row[] = [
  [
    'POST /api/projects',
    { walletAddress: '0xD8dA6BF26964aF9D7eEd9e03E53415D37aA96045', '…': 'project' },
    `Invalid walletAddress: the checksum is wrong, so there may be a typo. Check every character. If they are all correct, enter ${WALLET}.`,
  ],
  [
    'POST /api/projects',
    { walletAddress: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA9604', '…': 'project' },
    'Invalid walletAddress: must be an EVM address: 0x and 40 hex digits. This one has 39.',
  ],
  [
    'POST /api/projects',
    { walletAddress: 'vitalik.eth', '…': 'project' },
    'Invalid walletAddress: must be an EVM address, not an ENS name. Enter the address that the name resolves to.',
  ],
];

const VALUES: Row[] = [
  [`POST ${P}/endpoints`, { priceUsd: 0.01, '…': 'endpoint' }, 'Invalid priceUsd: send it as a string: "0.01".'],
  [
    `POST ${P}/endpoints`,
    { timeoutSeconds: '30', '…': 'endpoint' },
    'Invalid timeoutSeconds: send it without quotes: 30.',
  ],
  [`PATCH ${P}/endpoints/{endpoint}`, { isActive: 'false' }, 'Invalid isActive: send it without quotes: false.'],
  [`POST ${P}/endpoints`, { priceUsd: '$1', '…': 'endpoint' }, WRONG_PRICE],
  [
    `POST ${P}/endpoints`,
    { path: 'weather', '…': 'endpoint' },
    'Invalid path: must start with a slash, for example, "/weather".',
  ],
  [
    `POST ${P}/endpoints`,
    { path: '/users/{id}', '…': 'endpoint' },
    'Invalid path: write parameters with a colon, for example, "/users/:id".',
  ],
  [
    `POST ${P}/endpoints`,
    { upstreamUrl: 'api.example.com', '…': 'endpoint' },
    'Invalid upstreamUrl: enter an absolute URL, such as https://example.com/path.',
  ],
  [
    `POST ${P}/endpoints`,
    { methods: ['GTE'], '…': 'endpoint' },
    'Invalid methods.0: must be one of GET, HEAD, POST, PUT, PATCH, DELETE. Did you mean `GET`?',
  ],
  [`POST ${P}/webhooks`, { eventTypes: '*', '…': 'webhook' }, 'Invalid eventTypes: must be a list.'],
  [
    `POST ${P}/webhooks`,
    { eventTypes: [], '…': 'webhook' },
    'Invalid eventTypes: choose at least one event type, or "*" for all.',
  ],
  [
    `POST ${P}/webhooks`,
    { eventTypes: ['PAYMENT_SETTLED'], '…': 'webhook' },
    'Invalid eventTypes.0: must be one of *, …. Did you mean `payment.settled`?',
  ],
  [
    `POST ${P}/webhooks`,
    { filter: { 'data.amount': '1' }, '…': 'webhook' },
    'Invalid filter.data.amount: no event type … The fields are …, data.amountUsd, …',
  ],
  [
    `POST ${P}/webhooks`,
    { filter: { 'data.amountUsd': { let: '2' } }, '…': 'webhook' },
    'Invalid filter.data.amountUsd.let: must be one of eq, ne, in, gt, gte, lt, lte, exists, startsWith, contains.',
  ],
  [
    `POST ${P}/webhooks/{webhook}/test`,
    { eventType: 'payment.made' },
    'Invalid eventType: must be one of …. Did you mean `payment.failed`?',
  ],
  [
    `POST ${P}/connectors`,
    { type: 'google_sheets', '…': 'connector' },
    'Invalid type: must be one of amplitude, …, zapier. Did you mean `google-sheets`?',
  ],
  [
    `POST ${P}/keys`,
    { name: 'CI', scopes: ['READS'] },
    'Invalid scopes.0: must be one of CREDENTIALS, DELIVERIES, PAYMENTS, READ, WRITE. Did you mean `READ`?',
  ],
];

const LISTS: Row[] = [
  [`GET ${P}/deliveries?sttus=FAILED`, undefined, 'Unknown parameter `sttus`. Did you mean `status`?'],
  [
    `GET ${P}/endpoints?page=2`,
    undefined,
    'Unknown parameter `page`. To get the next page, send `nextCursor` as `after`.',
  ],
  [
    `GET ${P}/deliveries?status=suceeded`,
    undefined,
    'Invalid status.0: must be one of FAILED, PENDING, RUNNING, SKIPPED, SUCCEEDED. Did you mean `SUCCEEDED`?',
  ],
  [`GET ${P}/payments?per_page=50`, undefined, 'Unknown parameter `per_page`. Did you mean `limit`?'],
  [`GET ${P}/payments?startDate=2026-01-01`, undefined, 'Unknown parameter `startDate`. Did you mean `from`?'],
  [`GET ${P}/deliveries?limit=1000`, undefined, 'Invalid limit: must be a whole number from 1 to 100.'],
  [`GET ${P}/deliveries?after=x`, undefined, 'Invalid after: must be a cursor from a page of this list.'],
  [
    `GET ${P}/deliveries?from=2026-01-01`,
    undefined,
    'Invalid from: must be an ISO 8601 time with an offset, for example, "2026-01-02T03:04:05Z".',
  ],
  [`GET ${P}/payments/export?fromat=jsonl`, undefined, 'Unknown parameter `fromat`. Did you mean `format`?'],
  [
    `GET ${P}/revenue?interval=days`,
    undefined,
    'Invalid interval: must be one of DAY, HOUR, MONTH. Did you mean `DAY`?',
  ],
  [`GET ${P}/search?q=a`, undefined, 'Invalid q: must be at least 2 characters.'],
];

const IDS_AND_PERMISSIONS: Row[] = [
  ['GET /api/projects/{webhook}', undefined, 'Not found. {webhook} is the ID of a webhook, not of a project.'],
  [
    `GET ${P}/payments?endpointId={webhook}`,
    undefined,
    'Not found. {webhook} is the ID of a webhook, not of an endpoint.',
  ],
  ['GET /api/projects/shop', undefined, 'Not found. Check the path and the IDs in it.'],
  [`PATCH ${P}/webhooks/{connector}`, {}, 'Not found. {connector} is the ID of a connector, not of a webhook.'],
  [
    `POST ${P}/endpoints`,
    { '…': 'endpoint' },
    'This API key does not have the scope WRITE. Its only scope is READ. An owner or admin of the project can create a key with WRITE.',
    'reader',
  ],
  [
    `PATCH ${P}`,
    { walletAddress: '0x1F98431c8aD98523631AE4a59f267346ea31F984' },
    'API keys cannot change `walletAddress`, `networks`, `gatewayHost`, or `slug`, because they determine who is paid. Use the project owner’s user token. With the WRITE scope, API keys can change the project’s other fields.',
    'writer',
  ],
  [
    `POST ${P}/keys`,
    { name: 'CI' },
    'API keys cannot do this. Use the user token of someone whose role in the project is OWNER or ADMIN.',
    'writer',
  ],
  ['POST /api/projects', { '…': 'project' }, 'API keys cannot do this. Use a user token.', 'writer'],
];

/** In REST, by what is wrong. */
export const REST_MISTAKES: Readonly<Record<string, Mistake[]>> = {
  'Paths, methods, and JSON': PATHS_AND_BODIES.map(toMistake),
  Fields: FIELDS.map(toMistake),
  'Wallet addresses': WALLETS.map(toMistake),
  'Other values': VALUES.map(toMistake),
  'Lists and exports': LISTS.map(toMistake),
  'IDs and permissions': IDS_AND_PERMISSIONS.map(toMistake),
};

/** In GraphQL. A request is a query, or the name of a mutation whose input is the body. */
export const GRAPHQL_MISTAKES: Mistake[] = (
  [
    ['{ viewer { teir } }', undefined, 'Cannot query field "teir" on type "Viewer". Did you mean "tier"?'],
    [
      '{ viewer }',
      undefined,
      'Field "viewer" of type "Viewer" must have a selection of subfields. Did you mean "viewer { ... }"?',
    ],
    [
      '{ project { id } }',
      undefined,
      'Field "project" argument "id" of type "ID!" is required, but it was not provided.',
    ],
    ['{ projects(first: 1000) { nodes { id } } }', undefined, 'Invalid first: must be from 1 to 100.'],
    [
      '{ project(id: "{webhook}") { id } }',
      undefined,
      'Not found. {webhook} is the ID of a webhook, not of a project.',
    ],
    [
      'createEndpoint',
      { priceUsd: undefined, '…': 'endpoint' },
      'Variable "$input" got an invalid value; Field "priceUsd" of required type "String!" was not provided.',
    ],
    [
      'createEndpoint',
      { upstreamURL: 'https://api.example.com', '…': 'endpoint' },
      'Variable "$input" got an invalid value; Field "upstreamURL" is not defined by type "CreateEndpointInput". Did you mean "upstreamUrl"?',
    ],
    [
      'createEndpoint',
      { priceUsd: 0.01, '…': 'endpoint' },
      'Variable "$input" got an invalid value at "input.priceUsd"; String cannot represent a number. Send it in double quotes.',
    ],
    ['createEndpoint', { priceUsd: 'free', '…': 'endpoint' }, WRONG_PRICE],
    [
      'createWebhook',
      { eventTypes: ['payment.settled'], '…': 'webhook' },
      'Variable "$input" got an invalid value at "input.eventTypes[0]"; The value does not exist in the "EventTypeFilter" enum. Did you mean the enum value "PAYMENT_SETTLED", "PAYMENT_FAILED", or "PAYMENT_VERIFIED"?',
    ],
  ] satisfies Row[]
).map(toMistake);

/** On the command line: the command without `tollgate`, its exit code, and what it prints. */
export const CLI_MISTAKES: readonly [command: string, exitCode: number, sentence: string][] = [
  ['lissten', 2, '(Did you mean listen?)'],
  ['listen --forward x', 2, '(Did you mean --forward-to?)'],
  ['listen --webhook {connector}', 7, '{connector} is the ID of a connector, not of a webhook.'],
  ['trigger payment.setled', 2, 'Unknown event type "payment.setled". Did you mean `payment.settled`?'],
  ['deliveries tail --status faild', 2, 'Unknown status "faild". Did you mean `failed`?'],
  [
    'replay --from yesterday',
    2,
    '--from must be a duration such as 30m, 2h, or 7d, or a timestamp such as 2026-01-02T03:04:05Z.',
  ],
  ['export payment', 2, 'Cannot export "payment". Did you mean `payments`?'],
  ['import missing.yaml', 2, 'The file missing.yaml does not exist.'],
  ['trigger payment.settled --project {webhook}', 7, 'Not found. {webhook} is the ID of a webhook, not of a project.'],
  [
    'whoami --url localhost:4000',
    2,
    '--url must be an http(s) URL such as https://pay.example.com, not localhost:4000.',
  ],
];

function toMistake([request, body, detail, caller]: Row): Mistake {
  return { request, body, detail, ...(caller && { caller }) };
}

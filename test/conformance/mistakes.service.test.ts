import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { runCli } from '../support/cli.ts';
import {
  createConnector,
  createEndpoint,
  createKey,
  createProject,
  createWebhook,
  GOOD,
} from '../support/resources.ts';

let app: TestApp;
let alice: TestUser;
/** The caller who makes the invalid request. */
let callers: Record<string, TestUser>;
/** The values for placeholders such as `{project}`. */
let ids: Record<string, string>;

beforeAll(async () => {
  app = await startTestApp();
  alice = await app.user('alice', 'PRO');
  const project = await createProject(alice);
  const keyWith = async (...scopes: string[]) =>
    app.caller((await createKey(alice, project.base, { scopes, name: 'x' })).key);
  ids = {
    project: project.id,
    webhook: (await createWebhook(alice, project.base)).id,
    connector: (await createConnector(alice, project.base)).id,
    endpoint: (await createEndpoint(alice, project.base, { path: '/taken' })).id,
  };
  callers = {
    alice,
    reader: await keyWith('READ'),
    writer: await keyWith('READ', 'WRITE', 'CREDENTIALS', 'DELIVERIES'),
    starter: await app.user('sam', 'STARTER'),
  };
});
afterAll(() => app?.stop());

const fillIn = (text: string) => text.replaceAll(/\{(\w+)\}/g, (all, name: string) => ids[name] ?? all);

const { endpoint, webhook, connector, project } = GOOD;
const TYPES =
  'customer.first_payment, customer.milestone, endpoint.created, endpoint.pricing_changed, payment.failed, ' +
  'payment.settled, payment.verified, revenue.daily_summary';
const STATUSES = 'FAILED, PENDING, RUNNING, SKIPPED, SUCCEEDED';
const WRONG_PRICE =
  'Invalid priceUsd: must be a decimal string with at most 12 digits before the decimal point and 6 after it, for example, "0.01".';
const P = '/api/projects/{project}';

/** The request, the expected `detail`, and the caller if it isn't the owner. */
type Mistake = [request: string, body: unknown, sentence: string, caller?: string];

const IN_REST: Mistake[] = [
  ['GET /api/project', undefined, "This path doesn't exist. Did you mean `/api/projects`?"],
  ['POST /api/v1/projects/p/endpoint', {}, "This path doesn't exist. Did you mean `/api/projects/p/endpoints`?"],
  ['POST /api/projects', {}, '`name` is required. See `errors` for the other invalid fields.'],
  [
    'POST /api/projects',
    { ...project, walletAddress: undefined, walletAdress: '0x1' },
    'Unknown field `walletAdress`. Did you mean `walletAddress`? See `errors` for the other invalid fields.',
  ],
  [
    'POST /api/projects',
    { ...project, walletAddress: '0x123' },
    'Invalid walletAddress: must be an EVM address: 0x and 40 hex digits. This one has 3.',
  ],
  [
    'POST /api/projects',
    { ...project, walletAddress: 'vitalik.eth' },
    'Invalid walletAddress: must be an EVM address, not an ENS name. Enter the address that the name resolves to.',
  ],
  [
    `PATCH ${P}`,
    { mode: 'TEST' },
    'Unknown field `mode`. The fields are description, gatewayHost, iconUrl, milestonesUsd, name, networks, slug, upstreamHeaders, walletAddress.',
  ],
  [`POST ${P}/endpoints`, { ...endpoint, priceUsd: 0.01 }, 'Invalid priceUsd: send it as a string: "0.01".'],
  [`POST ${P}/endpoints`, { ...endpoint, priceUsd: '$1' }, WRONG_PRICE],
  [
    `POST ${P}/endpoints`,
    { ...endpoint, path: 'weather' },
    'Invalid path: must start with a slash, for example, "/weather".',
  ],
  [
    `POST ${P}/endpoints`,
    { ...endpoint, upstreamUrl: 'api.example.com' },
    'Invalid upstreamUrl: enter an absolute URL, such as https://example.com/path.',
  ],
  [
    `POST ${P}/endpoints`,
    { ...endpoint, upstreamUrl: undefined, upstreamURL: 'x' },
    'Unknown field `upstreamURL`. Did you mean `upstreamUrl`? See `errors` for the other invalid fields.',
  ],
  [
    `POST ${P}/endpoints`,
    { ...endpoint, methods: ['GTE'] },
    'Invalid methods.0: must be one of GET, HEAD, POST, PUT, PATCH, DELETE. Did you mean `GET`?',
  ],
  [
    `POST ${P}/endpoints`,
    { ...endpoint, projectId: 'x' },
    'Invalid projectId: omit this field. Its value is in the path.',
  ],
  [`POST ${P}/endpoints`, [endpoint], 'Invalid request body: must be a JSON object.'],
  [`PATCH ${P}/endpoints/{endpoint}`, { priceUsd: null }, 'Invalid priceUsd: must not be null.'],
  [
    `POST ${P}/webhooks`,
    { ...webhook, eventTypes: ['PAYMENT_SETTLED'] },
    `Invalid eventTypes.0: must be one of *, ${TYPES}. Did you mean \`payment.settled\`?`,
  ],
  [
    `POST ${P}/webhooks`,
    { ...webhook, eventTypes: [] },
    'Invalid eventTypes: choose at least one event type, or "*" for all.',
  ],
  [`POST ${P}/webhooks`, { ...webhook, eventTypes: '*' }, 'Invalid eventTypes: must be a list.'],
  [
    `POST ${P}/webhooks`,
    { ...webhook, filter: { 'data.amount': '1' } },
    expect.stringMatching(
      /^Invalid filter\.data\.amount: no event type .* The fields are .*, data\.amountUsd, /,
    ) as never,
  ],
  [
    `POST ${P}/webhooks`,
    { ...webhook, filter: { 'data.amountUsd': { gt: '1', let: '2' } } },
    'Invalid filter.data.amountUsd.let: must be one of eq, ne, in, gt, gte, lt, lte, exists, startsWith, contains.',
  ],
  [
    `POST ${P}/webhooks/{webhook}/test`,
    { eventType: 'payment.made' },
    `Invalid eventType: must be one of ${TYPES}. Did you mean \`payment.failed\`?`,
  ],
  [
    `POST ${P}/connectors`,
    { ...connector, type: 'Slack' },
    expect.stringMatching(/^Invalid type: must be one of amplitude, .*, zapier\. Did you mean `slack`\?$/) as never,
  ],
  [
    `POST ${P}/connectors`,
    { ...connector, config: { webhookURL: 'x' } },
    'Unknown field `config.webhookURL`. Did you mean `webhookUrl`? See `errors` for the other invalid fields.',
  ],
  [
    `POST ${P}/keys`,
    { name: 'x', scopes: ['read'] },
    'Invalid scopes.0: must be one of CREDENTIALS, DELIVERIES, READ, WRITE. Did you mean `READ`?',
  ],
  [
    `GET ${P}/deliveries?status=suceeded`,
    undefined,
    `Invalid status.0: must be one of ${STATUSES}. Did you mean \`SUCCEEDED\`?`,
  ],
  [`GET ${P}/deliveries?sttus=FAILED`, undefined, 'Unknown parameter `sttus`. Did you mean `status`?'],
  [`GET ${P}/deliveries?limit=1000`, undefined, 'Invalid limit: must be a whole number from 1 to 100.'],
  [`GET ${P}/deliveries?after=x`, undefined, 'Invalid after: must be a cursor from a page of this list.'],
  [
    `GET ${P}/deliveries?from=2026-01-01`,
    undefined,
    'Invalid from: must be an ISO 8601 time with an offset, for example, "2026-01-02T03:04:05Z".',
  ],
  [
    `GET ${P}/revenue?interval=days`,
    undefined,
    'Invalid interval: must be one of DAY, HOUR, MONTH. Did you mean `DAY`?',
  ],
  [`GET ${P}/search?q=a`, undefined, 'Invalid q: must be at least 2 characters.'],
  [`PUT ${P}`, project, 'This path does not support PUT. Use one of DELETE, GET, PATCH.'],
  ['GET /api/projects/{webhook}', undefined, 'Not found. {webhook} is the ID of a webhook, not of a project.'],
  ['GET /api/projects/shop', undefined, 'Not found. Check the path and the IDs in it.'],
  [`PATCH ${P}/webhooks/{connector}`, {}, 'Not found. {connector} is the ID of a connector, not of a webhook.'],
  [
    `POST ${P}/endpoints`,
    endpoint,
    'This API key does not have the scope WRITE. An owner or admin of the project can create a key that has it.',
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
    { name: 'x' },
    'API keys cannot do this. Use the user token of someone whose role in the project is OWNER or ADMIN.',
    'writer',
  ],
  ['POST /api/projects', project, 'API keys cannot do this. Use a user token.', 'writer'],
];

test.each(IN_REST)('%s with %j says what to do instead', async (request, body, sentence, caller = 'alice') => {
  const [method, path] = fillIn(request).split(' ') as [string, string];
  const { status, body: problem } = await callers[caller]!.rest<{ detail: string }>(method, path, body);
  expect(status).toBeGreaterThanOrEqual(400);
  expect(problem.detail).toEqual(typeof sentence === 'string' ? fillIn(sentence) : sentence);
});

const CREATE = 'mutation ($input: CreateEndpointInput!) { createEndpoint(input: $input) { endpoint { id } } }';
const CREATE_WEBHOOK = 'mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { webhook { id } } }';
const input = (fields: object) => ({ input: { projectId: '{project}', ...fields } });

const IN_GRAPHQL: Mistake[] = [
  ['{ viewer { teir } }', {}, 'Cannot query field "teir" on type "Viewer". Did you mean "tier"?'],
  ['{ project { id } }', {}, 'Field "project" argument "id" of type "ID!" is required, but it was not provided.'],
  [
    '{ viewer }',
    {},
    'Field "viewer" of type "Viewer" must have a selection of subfields. Did you mean "viewer { ... }"?',
  ],
  ['{ projects(first: 1000) { nodes { id } } }', {}, 'Invalid first: must be from 1 to 100.'],
  ['{ project(id: "{webhook}") { id } }', {}, 'Not found. {webhook} is the ID of a webhook, not of a project.'],
  [
    CREATE,
    input({ path: '/x' }),
    'Variable "$input" got an invalid value; Field "priceUsd" of required type "String!" was not provided.',
  ],
  [
    CREATE,
    input({ ...endpoint, upstreamURL: 'x' }),
    'Variable "$input" got an invalid value; Field "upstreamURL" is not defined by type "CreateEndpointInput". Did you mean "upstreamUrl"?',
  ],
  [CREATE, input({ ...endpoint, priceUsd: 'free' }), WRONG_PRICE],
  [
    CREATE_WEBHOOK,
    input({ ...webhook, eventTypes: ['payment.settled'] }),
    'Variable "$input" got an invalid value at "input.eventTypes[0]"; The value does not exist in the "EventTypeFilter" enum. Did you mean the enum value "PAYMENT_SETTLED", "PAYMENT_FAILED", or "PAYMENT_VERIFIED"?',
  ],
];

test.each(IN_GRAPHQL)('in GraphQL, %s with %j says what to do instead', async (query, variables, sentence) => {
  const given = JSON.parse(fillIn(JSON.stringify(variables))) as Record<string, unknown>;
  const { errors } = await alice.graphql(fillIn(query), given);
  expect(errors?.[0]?.message).toBe(fillIn(sentence));
});

const ON_THE_COMMAND_LINE: [args: string, exitCode: number, sentence: string][] = [
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

test.each(ON_THE_COMMAND_LINE)('tollgate %s says what to do instead', async (args, exitCode, sentence) => {
  const env = { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: alice.token, TOLLGATE_PROJECT: ids.project! };
  const { code, stderr } = await runCli(fillIn(args).split(' '), env);
  expect({ code, stderr }).toEqual({ code: exitCode, stderr: expect.stringContaining(fillIn(sentence)) });
});

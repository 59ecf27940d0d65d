import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { generate } from '@graphql-codegen/cli';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CONNECTOR_TYPES } from '../../src/connectors/definition.ts';
import { fieldNameOf } from '../../src/features/connectors/typed-config.ts';

// A client's types are generated from schema.graphql, and programs that use them are compiled as strictly as possible.

const ROOT = resolve(import.meta.dirname, '../..');
const configTypes = CONNECTOR_TYPES.map(fieldNameOf).map(
  (name) => `${name[0]!.toUpperCase()}${name.slice(1)}ConnectorConfig`,
);

const DOCUMENT = `
  query Events($projectId: ID!) {
    project(id: $projectId) {
      events(first: 20) {
        nodes {
          payload {
            __typename
            ... on PaymentVerifiedData { paymentId payer }
            ... on PaymentSettledData { amountUsd transactionHash payer }
            ... on PaymentFailedData { stage reason transactionHash }
            ... on CustomerFirstPaymentData { payer customerId }
            ... on CustomerMilestoneData { milestoneUsd paymentCount }
            ... on EndpointCreatedData { path description }
            ... on EndpointPricingChangedData { previousPriceUsd priceUsd }
            ... on RevenueDailySummaryData { date topEndpoints { path totalUsd } }
          }
        }
      }
      connectors { nodes { typedConfig {
        __typename
        ${configTypes.map((name) => (name.startsWith('Telegram') ? `... on ${name} { chatId }` : `... on ${name} { __typename }`)).join('\n')}
      } } }
    }
  }
  mutation Create($input: CreateConnectorInput!) { createConnector(input: $input) { connector { id } } }`;

const PAYLOADS = `
import type { EventsQuery } from './types.ts';
type Nodes = NonNullable<EventsQuery['project']>['events']['nodes'];
type Payload = NonNullable<Nodes[number]['payload']>;
export function describe(payload: Payload): string {
  switch (payload.__typename) {
    case 'PaymentVerifiedData': return payload.paymentId;
    case 'PaymentSettledData': return payload.amountUsd + (payload.transactionHash ?? '');
    case 'PaymentFailedData': return payload.stage === 'UPSTREAM' ? payload.reason : 'the payment';
    case 'CustomerFirstPaymentData': return payload.payer ?? 'unknown';
    case 'CustomerMilestoneData': return payload.milestoneUsd + payload.paymentCount.toFixed(0);
    case 'EndpointCreatedData': return payload.path + (payload.description ?? '');
    case 'EndpointPricingChangedData': return payload.previousPriceUsd + payload.priceUsd;
    case 'RevenueDailySummaryData': return payload.topEndpoints.map(({ path }) => path).join();
  }
}`;

const CONFIGS = `
import type { CreateMutationVariables, EventsQuery } from './types.ts';
type Nodes = NonNullable<EventsQuery['project']>['connectors']['nodes'];
type Config = NonNullable<Nodes[number]['typedConfig']>;
export function describe(config: Config): string | null {
  switch (config.__typename) {
    case 'TelegramConnectorConfig': return config.chatId;
    ${configTypes
      .filter((name) => !name.startsWith('Telegram'))
      .map((name) => `case '${name}': return '${name}';`)
      .join('\n')}
  }
}
export const variables: CreateMutationVariables = {
  input: {
    projectId: 'proj_1', type: 'SLACK', eventTypes: ['ALL'],
    typedConfig: { slack: { webhookUrl: 'https://hooks.slack.com/services/T/B/X' } },
  },
};`;

const SDK = `
import { type Event, verifyWebhook, type WebhookEvent } from '${ROOT}/packages/sdk/src/index.ts';
import type { Tollgate } from '${ROOT}/packages/sdk/src/index.ts';
export function describe(event: Event | WebhookEvent): string {
  switch (event.type) {
    case 'payment.verified': return event.data.paymentId;
    case 'payment.settled': return event.data.transactionHash;
    case 'payment.failed': return event.data.reason;
    case 'customer.first_payment': return event.data.payer;
    case 'customer.milestone': return event.data.milestoneUsd;
    case 'endpoint.created': return event.data.path;
    case 'endpoint.pricing_changed': return event.data.previousPriceUsd;
    case 'revenue.daily_summary': return event.data.date;
  }
}
export async function all(tollgate: Tollgate, request: Request) {
  for await (const event of tollgate.events.follow()) describe(event);
  for await (const event of tollgate.events.list()) describe(event);
  describe(await tollgate.events.get('evt_1'));
  describe(await verifyWebhook({ payload: await request.text(), headers: request.headers, secret: 'whsec_1' }));
}`;

let folder: string;

beforeAll(async () => {
  // Inside the repository, so that the compiler finds its types.
  await mkdir(join(ROOT, 'node_modules/.cache'), { recursive: true });
  folder = await mkdtemp(join(ROOT, 'node_modules/.cache/typed-client-'));
  const [{ content }] = (await generate(
    {
      schema: join(ROOT, 'schema.graphql'),
      documents: DOCUMENT,
      silent: true,
      generates: {
        'types.ts': {
          plugins: ['typescript-operations'],
          config: {
            useTypeImports: true,
            enumsAsTypes: true,
            scalars: { ID: 'string', DateTime: 'string', JSON: 'unknown' },
          },
        },
      },
    },
    false,
  )) as { content: string }[] as [{ content: string }];
  await writeFile(join(folder, 'types.ts'), content);
}, 120_000);
afterAll(() => folder && rm(folder, { recursive: true, force: true }));

/** Compiles a program and returns the compiler's messages. */
async function compile(name: string, source: string): Promise<string> {
  await writeFile(join(folder, name), source);
  const options = [
    '--noEmit',
    '--strict',
    '--exactOptionalPropertyTypes',
    '--noUncheckedIndexedAccess',
    '--noImplicitReturns',
  ];
  const modules = [
    '--target',
    'esnext',
    '--module',
    'nodenext',
    '--allowImportingTsExtensions',
    '--skipLibCheck',
    '--types',
    'node',
  ];
  const args = [join(ROOT, 'node_modules/.bin/tsc'), '--ignoreConfig', ...options, ...modules, join(folder, name)];
  const { stdout, stderr } = spawnSync(args[0]!, args.slice(1), { cwd: dirname(folder), encoding: 'utf8' });
  return (stdout + stderr)
    .split('\n')
    .filter((line) => line.includes('error TS'))
    .join('\n');
}

test.each([
  ['event payloads', 'payloads', PAYLOADS, "case 'RevenueDailySummaryData'", 'payload.paymentId', 'payload.amountUsd'],
  [
    'connector configs',
    'configs',
    CONFIGS,
    "case 'XeroConnectorConfig'",
    'slack: { webhookUrl: ',
    'slack: { webhook: ',
  ],
  ['events in the SDK', 'sdk', SDK, "case 'revenue.daily_summary'", 'event.data.paymentId', 'event.data.priceUsd'],
])(
  'a program that handles every type of %s compiles, but not if a type is missing or a field has a different type',
  async (_what, name, source, lastCase, field, other) => {
    expect(await compile(`${name}.ts`, source)).toBe('');
    const withoutCase = source.replace(new RegExp(`${lastCase}.*`), '');
    expect(withoutCase).not.toBe(source);
    expect(await compile(`${name}-case.ts`, withoutCase)).toMatch(/TS2366|TS7030/);
    const withOther = source.replace(field, other);
    expect(withOther).not.toBe(source);
    expect(await compile(`${name}-field.ts`, withOther)).toMatch(/TS2339|TS2353|TS2561/);
  },
  120_000,
);

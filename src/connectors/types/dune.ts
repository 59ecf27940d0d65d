import { z } from 'zod';
import { type ConnectorEvent, defineConnector, type Outcome } from '../definition.ts';
import type { ConnectorRequest, ConnectorResponse } from '../exchange.ts';
import { choiceField, headerSecretField, textField } from '../fields.ts';
import { classifyByStatus, failedProbe, parseJson, retry, valueAt, vendorText } from '../shared/classify.ts';
import { eventRow, payloadJson } from '../shared/row.ts';

const API_URL = 'https://api.dune.com/api/v1';
const DEFAULT_TABLE = 'x402_events';
const NAME = /^[A-Za-z]\w{0,127}$/;

/** Every line has exactly these keys, because Dune rejects a file that doesn't match the table's schema. */
const SCHEMA = [
  { name: 'event_id', type: 'varchar', nullable: false },
  { name: 'kind', type: 'varchar', nullable: false },
  { name: 'occurred_at', type: 'timestamp', nullable: false },
  { name: 'payment_id', type: 'varchar', nullable: true },
  { name: 'endpoint_id', type: 'varchar', nullable: true },
  { name: 'customer', type: 'varchar', nullable: true },
  { name: 'amount_usd', type: 'double', nullable: true },
  { name: 'amount_atomic', type: 'uint256', nullable: true },
  { name: 'currency', type: 'varchar', nullable: true },
  { name: 'network', type: 'varchar', nullable: true },
  { name: 'tx_hash', type: 'varchar', nullable: true },
  { name: 'payload', type: 'varchar', nullable: true },
] as const;

const config = z.strictObject({
  apiKey: headerSecretField({
    title: 'API key',
    description: 'A Dune API key with the Read/Write scope.',
  }),
  namespace: textField({
    title: 'Namespace',
    description: 'Your Dune user or team handle. Detected automatically if your account has already uploaded a table.',
    example: 'my_team',
    pattern: /^[A-Za-z0-9][\w-]{0,127}$/,
    hint: 'Must be a Dune user or team handle.',
  }).optional(),
  table: textField({
    title: 'Table',
    description: `The table that receives one row per event. The table is created if it doesn't exist. Default: ${DEFAULT_TABLE}.`,
    example: DEFAULT_TABLE,
    pattern: NAME,
    hint: 'Use letters, digits, and underscores only, and start with a letter.',
  }).optional(),
  visibility: choiceField(['private', 'public'], {
    title: 'Visibility',
    description:
      "Who can query the table. Takes effect when the table is created. Default: private, which some Dune plans don't offer.",
  }).optional(),
});
type Config = z.infer<typeof config>;

/** Inserts batches of rows through the uploads API (https://docs.dune.com/api-reference/tables/endpoint/overview). */
export const dune = defineConnector<Config>({
  type: 'dune',
  title: 'Dune',
  category: 'Data',
  description: 'Adds a row per event to a Dune table, in batches every five minutes.',
  documentationUrl: 'https://docs.dune.com/api-reference/overview/authentication',
  config,
  supportsEvent: () => true,
  // Every insert costs at least one credit, and the free plan allows 15 per minute.
  batch: { maxEvents: 1000, windowSeconds: 300 },
  // The free plan's limit on inserts.
  vendorLimit: {
    count: 15,
    perSeconds: 60,
    concurrency: 1,
    documentationUrl: 'https://docs.dune.com/api-reference/overview/rate-limits',
  },
  timeoutSeconds: 30,

  build(events, config, { memory }) {
    const namespace = config.namespace ?? memory.namespace;
    if (!namespace) return findNamespace(config);
    if (!memory[tableKey(namespace, config)]) return createTable(namespace, config);
    return insert(events, namespace, config);
  },

  classify(response, context) {
    const { config, events, step, now } = context;
    if (step === 'namespace') return afterNamespace(response, config, now);
    const namespace = config.namespace ?? context.memory.namespace ?? '';
    if (step === 'create') {
      if (!isCreated(response)) return classifyCreateFailure(response, config, now);
      const remember = { [tableKey(namespace, config)]: 'created' };
      return { kind: 'next', request: insert(events, namespace, config, 'insert-created'), remember };
    }
    if (response.statusCode === 404) {
      if (step === 'insert') return { kind: 'next', request: createTable(namespace, config) };
      return retry("Dune can't find the table it just created.", 60);
    }
    if (response.statusCode !== 200) return classifyFailure(response, config, now);
    const isConfirmed = parseJson(response.body) !== undefined;
    return isConfirmed ? { kind: 'delivered' } : retry('Dune responded without confirming the rows.');
  },

  probe: {
    build: findNamespace,
    classify(response, config) {
      if (response.statusCode !== 200) {
        return failedProbe('Dune', classifyFailure(response, config, new Date(0)));
      }
      if (!config.namespace && !handleOf(response)) return { ok: false, message: NAMESPACE_NEEDED };
      return { ok: true, message: 'The key works. The first events will show whether it has write access.' };
    },
  },
});

const NAMESPACE_NEEDED =
  "The namespace is unknown, because your Dune account has no uploads yet. Enter it in the connector's settings.";

function findNamespace(config: Config): ConnectorRequest {
  return { method: 'GET', url: `${API_URL}/uploads?limit=1`, headers: authorization(config), step: 'namespace' };
}

function createTable(namespace: string, config: Config): ConnectorRequest {
  return {
    method: 'POST',
    url: `${API_URL}/uploads`,
    headers: { ...authorization(config), 'content-type': 'application/json' },
    body: JSON.stringify({
      namespace,
      table_name: config.table ?? DEFAULT_TABLE,
      description: 'Payment events from a paid API, one row per event.',
      is_private: config.visibility !== 'public',
      schema: SCHEMA,
    }),
    step: 'create',
  };
}

function insert(
  events: readonly ConnectorEvent[],
  namespace: string,
  config: Config,
  step = 'insert',
): ConnectorRequest {
  return {
    method: 'POST',
    url: `${API_URL}/uploads/${encodeURIComponent(namespace)}/${config.table ?? DEFAULT_TABLE}/insert`,
    headers: { ...authorization(config), 'content-type': 'application/x-ndjson' },
    body: events.map((event) => `${line(event, config)}\n`).join(''),
    step,
  };
}

function line(event: ConnectorEvent, config: Config): string {
  const row = eventRow(event);
  // The upstream URL must not become public. The message of a failure can contain one.
  const { upstreamUrl, message, ...open } = row.payload;
  const payload = payloadJson(config.visibility === 'public' ? open : row.payload);
  return JSON.stringify({ ...row, amount_usd: row.amount_usd === null ? null : Number(row.amount_usd), payload });
}

function afterNamespace(response: ConnectorResponse, config: Config, now: Date): Outcome {
  if (response.statusCode !== 200) return classifyFailure(response, config, now);
  const namespace = handleOf(response);
  if (!namespace) return { kind: 'pause', reason: NAMESPACE_NEEDED };
  return { kind: 'next', request: createTable(namespace, config), remember: { namespace } };
}

function handleOf(response: ConnectorResponse): string | undefined {
  const handle = valueAt(parseJson(response.body), 'tables', 0, 'owner', 'handle');
  return typeof handle === 'string' && /^[\w-]{1,128}$/.test(handle) ? handle : undefined;
}

/** Whether the table now exists. Dune reports an existing table in several ways. */
function isCreated(response: ConnectorResponse): boolean {
  if (response.statusCode === 200 || response.statusCode === 201) return true;
  return [400, 409, 422].includes(response.statusCode) && /already.?exist/i.test(response.body);
}

/** A free plan may not include private tables, but only the seller can decide to make a table public. */
function classifyCreateFailure(response: ConnectorResponse, config: Config, now: Date): Outcome {
  const isAboutPrivacy = config.visibility !== 'public' && /private/i.test(response.body);
  if (isAboutPrivacy && response.statusCode >= 400 && response.statusCode < 500) {
    return {
      kind: 'pause',
      reason:
        "Dune didn't create the table. Your plan may not include private tables: upgrade it, or set visibility to public.",
    };
  }
  return classifyFailure(response, config, now);
}

function classifyFailure(response: ConnectorResponse, { apiKey }: Config, now: Date): Outcome {
  const { statusCode } = response;
  if (statusCode === 402) {
    return { kind: 'pause', reason: 'Your Dune credits are used up. Add credits, then save this connector.' };
  }
  if (statusCode === 401 || statusCode === 403) {
    return {
      kind: 'pause',
      reason: 'Dune rejected the API key. Save a key with the Read/Write scope for this namespace.',
    };
  }
  // Dune stores all rows or none, so a conflict with another writer means that nothing was stored.
  if (statusCode === 409) return retry('Another write to the Dune table was in progress.', 30);
  const detail = vendorText(valueAt(parseJson(response.body), 'error'), [apiKey]);
  return classifyByStatus('Dune', response, { expected: [200], ...(detail && { detail }), now });
}

/** The memory key for a table that is known to exist. */
function tableKey(namespace: string, config: Config): string {
  return `table:${namespace}/${config.table ?? DEFAULT_TABLE}`;
}

function authorization({ apiKey }: Config): Record<string, string> {
  return { 'x-dune-api-key': apiKey };
}

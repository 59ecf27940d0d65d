import { z } from 'zod';
import { type ConnectorEvent, defineConnector, type Outcome } from '../definition.ts';
import type { ConnectorResponse } from '../exchange.ts';
import { headerSecretField, textField } from '../fields.ts';
import { bearer } from '../shared/bearer.ts';
import { failedProbe, parseJson, reason, retry, valueAt, vendorText } from '../shared/classify.ts';
import { requireCredential } from '../shared/credential-rule.ts';
import { grantField } from '../shared/oauth-client.ts';
import { eventRow, payloadJson } from '../shared/row.ts';
import { googleCredential, serviceAccountKeyField } from './google-credential.ts';
import { classifyGoogleError } from './google-error.ts';

const MISSING =
  "BigQuery can't find the table. Create it, or change the project, dataset, or table ID. Then resume the connector.";
const TRANSIENT_ROW_REASONS: ReadonlySet<string> = new Set([
  'stopped',
  'backendError',
  'internalError',
  'timeout',
  'rateLimitExceeded',
  'quotaExceeded',
]);

/** The table's columns (docs/connectors/bigquery.md). BigQuery silently drops values for missing columns. */
const COLUMNS = [
  'event_id',
  'kind',
  'occurred_at',
  'payment_id',
  'endpoint_id',
  'customer',
  'amount_usd',
  'currency',
  'network',
  'tx_hash',
  'payload',
];

const fields = z.strictObject({
  projectId: textField({
    title: 'Project ID',
    description: 'The Google Cloud project that contains the dataset.',
    example: 'my-project-123',
    pattern: /^(?:[a-z0-9][a-z0-9.-]*:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$/,
    hint: 'Must be the ID of a Google Cloud project, not its name or number.',
  }),
  datasetId: textField({
    title: 'Dataset ID',
    description: 'The dataset, without the project ID.',
    example: 'payments',
    pattern: /^\w{1,1024}$/,
    hint: 'Use letters, digits, and underscores only.',
  }),
  tableId: textField({
    title: 'Table ID',
    description:
      'The table that receives one row per event. Create it first with the SQL statement in the documentation.',
    example: 'events',
    pattern: /^[\p{L}\p{M}\p{N}\p{Pc}\p{Pd} ]{1,1024}$/u,
    hint: "Can't contain dots, quotes, or slashes.",
  }),
  accessToken: headerSecretField({
    title: 'Access token',
    description:
      'An OAuth access token with the bigquery.insertdata scope. It expires after about an hour, so we recommend using a service account key instead.',
  }).optional(),
  serviceAccountKey: serviceAccountKeyField('insert rows into the table'),
  grant: grantField(),
});
const config = requireCredential(fields, ['serviceAccountKey']);
type Config = z.infer<typeof config>;

/** If one row is invalid, Google returns an error for each row. For 500 rows, that is more than 64 KB. */
const MAX_ERROR_BYTES = 1_048_576;

/** Inserts one row per event through `tabledata.insertAll` (https://cloud.google.com/bigquery/docs/reference/rest/v2/tabledata/insertAll). */
export const bigquery = defineConnector<Config>({
  type: 'bigquery',
  title: 'BigQuery',
  category: 'Data',
  description: 'Adds one row per event to a BigQuery table, in batches every ten seconds.',
  documentationUrl: 'https://cloud.google.com/bigquery/docs/authentication',
  config,
  credential: googleCredential('https://www.googleapis.com/auth/bigquery'),
  supportsEvent: () => true,
  // Google recommends up to 500 rows per request.
  batch: { maxEvents: 500, windowSeconds: 10 },
  timeoutSeconds: 30,

  build(events, config) {
    return {
      method: 'POST',
      url: `${tableUrl(config)}/insertAll`,
      headers: { ...bearer(config.accessToken), 'content-type': 'application/json' },
      // If one row is invalid, none is stored, so a smaller batch can be sent without duplicates.
      body: JSON.stringify({ skipInvalidRows: false, ignoreUnknownValues: true, rows: events.map(rowOf) }),
      maxResponseBytes: MAX_ERROR_BYTES,
    };
  },

  classify(response, { config, now }) {
    if (response.statusCode !== 200) return classifyGoogleError(response, config.accessToken, now, MISSING);
    return classifyRowErrors(response, config);
  },

  probe: {
    build: (config) => ({
      method: 'GET',
      url: `${tableUrl(config)}?fields=${encodeURIComponent('schema.fields(name)')}`,
      headers: bearer(config.accessToken),
    }),
    classify(response, config) {
      if (response.statusCode !== 200) {
        return failedProbe('BigQuery', classifyGoogleError(response, config.accessToken, new Date(0), MISSING));
      }
      const fields = valueAt(parseJson(response.body), 'schema', 'fields');
      const names = new Set(Array.isArray(fields) ? fields.map((field) => valueAt(field, 'name')) : []);
      const missing = COLUMNS.filter((column) => !names.has(column));
      if (missing.length > 0)
        return { ok: false, message: `The table is missing these columns: ${missing.join(', ')}.` };
      return { ok: true, message: 'BigQuery found the table, and it has all the required columns.' };
    },
  },
});

/**
 * BigQuery drops rows with the same `insertId` for only about a minute. The same ID is in the `event_id` column, which
 * readers can use to find later duplicates.
 */
function rowOf(event: ConnectorEvent) {
  const { amount_atomic, payload, ...columns } = eventRow(event);
  return { insertId: event.id, json: { ...columns, payload: payloadJson(payload) } };
}

/** Even a 200 response can report rows that weren't stored. */
function classifyRowErrors(response: ConnectorResponse, { accessToken }: Config): Outcome {
  const json = parseJson(response.body);
  if (json === undefined) return retry("BigQuery returned a response that isn't JSON.");
  const rowErrors = valueAt(json, 'insertErrors');
  if (!Array.isArray(rowErrors) || rowErrors.length === 0) return { kind: 'delivered' };
  const errors = rowErrors.flatMap((rowError): unknown[] => {
    const list = valueAt(rowError, 'errors');
    return Array.isArray(list) ? list : [];
  });
  const permanent = errors.find((error) => !TRANSIENT_ROW_REASONS.has(String(valueAt(error, 'reason'))));
  if (permanent === undefined) return retry("BigQuery couldn't store the row right now.");
  const column = vendorText(valueAt(permanent, 'location'), [accessToken], 40);
  const message = vendorText(valueAt(permanent, 'message'), [accessToken]);
  return {
    kind: 'drop',
    reason: reason(`BigQuery rejected the row${column && ` (column ${column})`}${message && `: ${message}`}`),
  };
}

function tableUrl({ projectId, datasetId, tableId }: Config): string {
  const [project, dataset, table] = [projectId, datasetId, tableId].map(encodeURIComponent);
  return `https://bigquery.googleapis.com/bigquery/v2/projects/${project}/datasets/${dataset}/tables/${table}`;
}

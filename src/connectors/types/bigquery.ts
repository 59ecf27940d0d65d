import { z } from 'zod';
import { type ConnectorResponse, defineConnector, type Outcome } from '../definition.ts';
import { secretField, textField } from '../fields.ts';
import { parseJson, reason, retry, valueAt, vendorText } from '../shared/classify.ts';
import { eventRow, payloadJson } from '../shared/row.ts';
import { classifyGoogleError } from './google-error.ts';

const HEADER_TEXT = /^[\x21-\x7e]+$/;
/** A table that was just made answers 404 for some minutes, so the first tries wait for it. */
const NEW_TABLE_TRIES = 3;
const NEW_TABLE_WAIT_SECONDS = 300;
const TRANSIENT_ROW_REASONS: ReadonlySet<string> = new Set([
  'stopped',
  'backendError',
  'internalError',
  'timeout',
  'rateLimitExceeded',
  'quotaExceeded',
]);

/** The columns of the table (docs/connectors/bigquery.md): missing ones would be dropped without a word. */
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

const config = z.strictObject({
  projectId: textField({
    title: 'Project ID',
    description: 'The Google Cloud project that holds the dataset.',
    example: 'my-project-123',
    pattern: /^(?:[a-z0-9][a-z0-9.-]*:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$/,
    hint: 'Must be a Google Cloud project ID, not its name or number.',
  }),
  datasetId: textField({
    title: 'Dataset ID',
    description: 'The dataset, without the project in front.',
    example: 'payments',
    pattern: /^\w{1,1024}$/,
    hint: 'Must consist of letters, digits and underscores.',
  }),
  tableId: textField({
    title: 'Table ID',
    description: 'The table that receives one row per event. Create it first with the statement in the documentation.',
    example: 'events',
    pattern: /^[\p{L}\p{M}\p{N}\p{Pc}\p{Pd} ]{1,1024}$/u,
    hint: 'Must be a table name without dots, quotes or slashes.',
  }),
  accessToken: secretField({
    title: 'Access token',
    description: 'OAuth token with the scope bigquery.insertdata. Google tokens last about an hour.',
    pattern: HEADER_TEXT,
    hint: 'Must not contain spaces.',
  }),
});
type Config = z.infer<typeof config>;

/** One row per event through `tabledata.insertAll` (https://cloud.google.com/bigquery/docs/reference/rest/v2/tabledata/insertAll). */
export const bigquery = defineConnector<Config>({
  type: 'bigquery',
  title: 'BigQuery',
  category: 'Data',
  description: 'Adds one row per event to a BigQuery table.',
  documentationUrl: 'https://cloud.google.com/bigquery/docs/authentication',
  config,
  carries: () => true,

  build([event], config) {
    const { amount_atomic, payload, ...columns } = eventRow(event);
    const row = { insertId: event.id, json: { ...columns, payload: payloadJson(payload) } };
    return {
      method: 'POST',
      url: `${tableUrl(config)}/insertAll`,
      headers: { ...authorization(config), 'content-type': 'application/json' },
      body: JSON.stringify({ skipInvalidRows: false, ignoreUnknownValues: true, rows: [row] }),
    };
  },

  classify(response, { config, attemptNumber, now }) {
    if (response.statusCode === 404 && attemptNumber <= NEW_TABLE_TRIES) {
      return retry(
        'BigQuery does not find the table. Check the three names, or create the table.',
        NEW_TABLE_WAIT_SECONDS,
      );
    }
    if (response.statusCode !== 200) return classifyGoogleError(response, config.accessToken, now);
    return classifyRowErrors(response, config);
  },

  probe: {
    build: (config) => ({
      method: 'GET',
      url: `${tableUrl(config)}?fields=${encodeURIComponent('schema.fields(name)')}`,
      headers: authorization(config),
    }),
    classify(response, config) {
      if (response.statusCode !== 200) {
        const outcome = classifyGoogleError(response, config.accessToken, new Date(0));
        return { ok: false, message: 'reason' in outcome ? outcome.reason : 'BigQuery did not answer as expected.' };
      }
      const fields = valueAt(parseJson(response.body), 'schema', 'fields');
      const names = new Set(Array.isArray(fields) ? fields.map((field) => valueAt(field, 'name')) : []);
      const missing = COLUMNS.filter((column) => !names.has(column));
      if (missing.length > 0) return { ok: false, message: `The table lacks the columns ${missing.join(', ')}.` };
      return { ok: true, message: 'The table was found and has every column.' };
    },
  },
});

/** A 200 answer still reports the rows that were not stored. */
function classifyRowErrors(response: ConnectorResponse, { accessToken }: Config): Outcome {
  const json = parseJson(response.body);
  if (json === undefined) return retry('BigQuery answered with something that is not JSON.');
  const rowErrors = valueAt(json, 'insertErrors');
  if (!Array.isArray(rowErrors) || rowErrors.length === 0) return { kind: 'delivered' };
  const errors = rowErrors.flatMap((rowError): unknown[] => {
    const list = valueAt(rowError, 'errors');
    return Array.isArray(list) ? list : [];
  });
  const permanent = errors.find((error) => !TRANSIENT_ROW_REASONS.has(String(valueAt(error, 'reason'))));
  if (permanent === undefined) return retry('BigQuery could not store the row just now.');
  const column = vendorText(valueAt(permanent, 'location'), [accessToken], 40);
  const message = vendorText(valueAt(permanent, 'message'), [accessToken]);
  return {
    kind: 'drop',
    reason: reason(`The table does not accept the row${column && ` (column ${column})`}${message && `: ${message}`}`),
  };
}

function tableUrl({ projectId, datasetId, tableId }: Config): string {
  const [project, dataset, table] = [projectId, datasetId, tableId].map(encodeURIComponent);
  return `https://bigquery.googleapis.com/bigquery/v2/projects/${project}/datasets/${dataset}/tables/${table}`;
}

function authorization({ accessToken }: Config): Record<string, string> {
  return { authorization: `Bearer ${accessToken}`, accept: 'application/json' };
}

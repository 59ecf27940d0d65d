import { z } from 'zod';
import { type ConnectorResponse, defineConnector, type Outcome } from '../definition.ts';
import { secretField, textField, vendorUrlField } from '../fields.ts';
import { classifyByStatus, parseJson, reason, retry, valueAt, vendorText } from '../shared/classify.ts';
import { eventRow } from '../shared/row.ts';

const DEFAULT_TABLE = 'payment_events';
/** PostgREST learns of a new table when its schema cache is reloaded, so the first tries wait for it. */
const NEW_TABLE_TRIES = 3;
const NEW_TABLE_WAIT_SECONDS = 60;
/** Codes of PostgreSQL and PostgREST that mean the table is not made as documented: nothing passes until it is. */
const TABLE_PROBLEMS: Readonly<Record<string, string>> = {
  '42P10': 'The table needs event_id as its primary key.',
  '42703': 'The table lacks a column.',
  PGRST204: 'The table lacks a column.',
};

const config = z.strictObject({
  url: vendorUrlField({
    title: 'Project URL',
    description: 'The API URL of the project, from Project Settings, Data API.',
    example: 'https://abcdefghijklmnopqrst.supabase.co',
    host: /^[a-z0-9]{20}\.supabase\.co$/,
    path: /^\/$/,
    hint: 'Must be the project URL, like https://abcdefghijklmnopqrst.supabase.co.',
  }),
  apiKey: secretField({
    title: 'API key',
    description: 'A secret key (sb_secret_…) or the legacy service_role key, from Project Settings, API Keys.',
    pattern: /^[\x21-\x7e]+$/,
    hint: 'Must not contain spaces.',
  }),
  table: textField({
    title: 'Table',
    description: `The table in the schema public that receives one row per event. Default: ${DEFAULT_TABLE}.`,
    example: DEFAULT_TABLE,
    pattern: /^[A-Za-z_]\w{0,62}$/,
    hint: 'Must be a table name of letters, digits and underscores.',
  }).optional(),
});
type Config = z.infer<typeof config>;

/** One row per event through PostgREST (https://docs.postgrest.org/en/stable/references/api/tables_views.html#upsert). */
export const supabase = defineConnector<Config>({
  type: 'supabase',
  title: 'Supabase',
  category: 'Data',
  description: 'Adds one row per event to a table of a Supabase project.',
  documentationUrl: 'https://supabase.com/docs/guides/api/api-keys',
  config,
  carries: () => true,

  build([event], config) {
    const { amount_atomic, ...row } = eventRow(event);
    return {
      method: 'POST',
      url: `${tableUrl(config)}?on_conflict=event_id`,
      headers: {
        ...authorization(config),
        'content-type': 'application/json',
        prefer: 'resolution=ignore-duplicates,return=minimal',
      },
      body: JSON.stringify(row),
    };
  },

  classify(response, { config, attemptNumber, now }) {
    if (response.statusCode === 200 || response.statusCode === 201) {
      // Nothing is returned to `return=minimal`, so a page is not from the database.
      const isAnswer = response.body.trim() === '' || parseJson(response.body) !== undefined;
      return isAnswer ? { kind: 'delivered' } : retry('Supabase answered without confirming the row.');
    }
    const { code, message, details } = postgrestError(response, config);
    if (code === '23505' && details.includes('event_id'))
      return { kind: 'delivered', note: 'The row was there already.' };
    if (response.statusCode === 404 && attemptNumber <= NEW_TABLE_TRIES) {
      return retry('Supabase does not find the table. Create it as the documentation shows.', NEW_TABLE_WAIT_SECONDS);
    }
    return (
      problem(response, code, message) ??
      classifyByStatus(response, { expected: [], ...(message && { detail: message }), now })
    );
  },

  probe: {
    build: (config) => ({
      method: 'GET',
      url: `${tableUrl(config)}?select=event_id&limit=0`,
      headers: authorization(config),
    }),
    classify(response, config) {
      if (response.statusCode === 200 && Array.isArray(parseJson(response.body))) {
        return {
          ok: true,
          message: 'The key works and the table was found. Whether it may insert shows with the first event.',
        };
      }
      const { code, message } = postgrestError(response, config);
      if (response.statusCode === 404) return { ok: false, message: 'The table was not found. Create it first.' };
      const outcome = problem(response, code, message) ?? classifyByStatus(response);
      return { ok: false, message: 'reason' in outcome ? outcome.reason : 'Supabase did not answer as expected.' };
    },
  },
});

/** What stops every event until the seller changes something at Supabase: the deliveries are held meanwhile. */
function problem({ statusCode }: ConnectorResponse, code: string, message: string): Outcome | undefined {
  if (statusCode === 540) {
    return {
      kind: 'pause',
      reason: 'The Supabase project is paused. Restore it in the dashboard and save this connector.',
    };
  }
  if (code === '42501') {
    return { kind: 'pause', reason: 'The key may not insert into the table. Use a secret key and run the grant.' };
  }
  if (Object.hasOwn(TABLE_PROBLEMS, code)) {
    return { kind: 'pause', reason: reason(`${TABLE_PROBLEMS[code]}${message && ` Supabase says: ${message}`}`) };
  }
  if (statusCode === 401 || statusCode === 403) {
    return { kind: 'pause', reason: 'Supabase refused the key. Save a current secret key of this project.' };
  }
  return undefined;
}

function postgrestError(response: ConnectorResponse, { apiKey }: Config) {
  const json = parseJson(response.body);
  const code = valueAt(json, 'code');
  return {
    code: typeof code === 'string' ? code : '',
    message: vendorText(valueAt(json, 'message'), [apiKey]),
    details: vendorText(valueAt(json, 'details'), [apiKey]),
  };
}

function tableUrl({ url, table = DEFAULT_TABLE }: Config): string {
  return `${new URL(url).origin}/rest/v1/${table}`;
}

/** Only a legacy key is a JWT that may stand in `authorization`; a secret key there is refused. */
function authorization({ apiKey }: Config): Record<string, string> {
  return { apikey: apiKey, ...(apiKey.startsWith('eyJ') && { authorization: `Bearer ${apiKey}` }) };
}

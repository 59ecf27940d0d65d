import { z } from 'zod';
import { defineConnector, type Outcome } from '../definition.ts';
import type { ConnectorResponse } from '../exchange.ts';
import { headerSecretField, textField, vendorUrlField } from '../fields.ts';
import { classifyByStatus, failedProbe, parseJson, reason, retry, valueAt, vendorText } from '../shared/classify.ts';
import { eventRow } from '../shared/row.ts';

const DEFAULT_TABLE = 'payment_events';
const MISSING =
  "Supabase can't find the table. Create it as described in the documentation, or change the table name. Then resume the connector.";
/** PostgreSQL and PostgREST codes for a table that isn't set up as documented: every event would fail. */
const TABLE_PROBLEMS: Readonly<Record<string, string>> = {
  '42P10': 'Make event_id the primary key of the table.',
  '42703': 'The table is missing a column.',
  PGRST204: 'The table is missing a column.',
};

const config = z.strictObject({
  url: vendorUrlField({
    title: 'Project URL',
    description: "Your project's API URL, from Project Settings > Data API, or the URL of your own Supabase server.",
    example: 'https://abcdefghijklmnopqrst.supabase.co',
    // Supabase can be self-hosted, and projects can have custom domains.
    host: /./,
    hint: 'Must be an https URL such as https://abcdefghijklmnopqrst.supabase.co, without a query string.',
    allowPort: true,
  }),
  apiKey: headerSecretField({
    title: 'API key',
    description: 'A secret key (sb_secret_…) or the legacy service_role key, from Project Settings > API Keys.',
  }),
  table: textField({
    title: 'Table',
    description: `The table in the public schema that receives one row per event. Default: ${DEFAULT_TABLE}.`,
    example: DEFAULT_TABLE,
    pattern: /^[A-Za-z_]\w{0,62}$/,
    hint: 'Use letters, digits, and underscores only.',
  }).optional(),
});
type Config = z.infer<typeof config>;

/** Inserts one row per event through PostgREST (https://docs.postgrest.org/en/stable/references/api/tables_views.html#upsert). */
export const supabase = defineConnector<Config>({
  type: 'supabase',
  title: 'Supabase',
  category: 'Data',
  description: 'Adds a row per event to a Supabase table.',
  documentationUrl: 'https://supabase.com/docs/guides/api/api-keys',
  config,
  supportsEvent: () => true,
  sellersRespond: true,

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

  classify(response, { config, now }) {
    if (response.statusCode === 200 || response.statusCode === 201) {
      // With `return=minimal`, the body is empty, so an HTML page isn't from the database.
      const isConfirmed = response.body.trim() === '' || parseJson(response.body) !== undefined;
      return isConfirmed ? { kind: 'delivered' } : retry('Supabase responded without confirming the row.');
    }
    const { code, message, details } = postgrestError(response, config);
    if (code === '23505' && details.includes('event_id'))
      return { kind: 'delivered', note: 'The row already existed.' };
    return (
      problem(response, code, message) ??
      classifyByStatus('Supabase', response, {
        expected: [],
        ...(message && { detail: message }),
        missing: MISSING,
        now,
      })
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
          message: 'The key works and the table exists. The first event will show whether the key can insert rows.',
        };
      }
      const { code, message } = postgrestError(response, config);
      const byStatus = () => classifyByStatus('Supabase', response, { missing: MISSING });
      return failedProbe('Supabase', problem(response, code, message) ?? byStatus());
    },
  },
});

/** Problems that every event would hit until the seller fixes them in Supabase. Deliveries are held until then. */
function problem({ statusCode }: ConnectorResponse, code: string, message: string): Outcome | undefined {
  if (statusCode === 540) {
    return {
      kind: 'pause',
      reason: 'The Supabase project is paused. Restore it in the Supabase dashboard, then save this connector.',
    };
  }
  if (code === '42501') {
    return {
      kind: 'pause',
      reason:
        "The API key can't insert into the table. Use a secret key and run the GRANT statement from the documentation.",
    };
  }
  if (Object.hasOwn(TABLE_PROBLEMS, code)) {
    return { kind: 'pause', reason: reason(`${TABLE_PROBLEMS[code]}${message && ` Supabase returned: ${message}`}`) };
  }
  if (statusCode === 401 || statusCode === 403) {
    return { kind: 'pause', reason: 'Supabase rejected the API key. Save a valid secret key for this project.' };
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
  const { origin, pathname } = new URL(url);
  // The URL in the Supabase dashboard may end with the path of the API.
  const base = pathname.replace(/\/*(?:\/rest\/v1\/*)?$/, '');
  return `${origin}${base}/rest/v1/${table}`;
}

/** Only a legacy key is a JWT and also goes into `authorization`, where Supabase would reject a secret key. */
function authorization({ apiKey }: Config): Record<string, string> {
  return { apikey: apiKey, ...(apiKey.startsWith('eyJ') && { authorization: `Bearer ${apiKey}` }) };
}

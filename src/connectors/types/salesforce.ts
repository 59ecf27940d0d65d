import { z } from 'zod';
import { defineConnector, type Outcome } from '../definition.ts';
import type { ConnectorResponse } from '../exchange.ts';
import { headerSecretField, vendorUrlField } from '../fields.ts';
import { bearer } from '../shared/bearer.ts';
import {
  classifyByStatus,
  failedProbe,
  looksLikeJson,
  parseJson,
  reason,
  retry,
  valueAt,
  vendorText,
} from '../shared/classify.ts';
import { requireCredential } from '../shared/credential-rule.ts';
import {
  authorizationUrl,
  clientFields,
  grantField,
  oauthClient,
  refreshTokenField,
  rejectedToken,
} from '../shared/oauth-client.ts';
import { eventRow, payloadJson } from '../shared/row.ts';

const API_VERSION = 'v66.0';
const OBJECT = 'X402_Event__c';
const ID_FIELD = 'Event_Id__c';
const MISSING = `Salesforce can't find the ${OBJECT} object. Create it as described in the documentation, or give the user access. Then resume the connector.`;
const CONNECT_AGAIN =
  'Check the app and its user in Salesforce, then save its client ID, client secret, and refresh token.';
const FIELDS = [
  'Kind__c',
  'Occurred_At__c',
  'Payment_Id__c',
  'Endpoint__c',
  'Customer__c',
  'Amount_USD__c',
  'Tx_Hash__c',
  'Payload__c',
];
/** A long text area holds 32,768 characters by default. */
const MAX_PAYLOAD_LENGTH = 32_000;
const DAILY_QUOTA_WAIT_SECONDS = 3600;
const LOCK_WAIT_SECONDS = 30;

/**
 * Error codes (https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/errorcodes.htm) for temporary
 * conditions.
 */
const PASSING: Readonly<Record<string, number>> = {
  REQUEST_LIMIT_EXCEEDED: DAILY_QUOTA_WAIT_SECONDS,
  UNABLE_TO_LOCK_ROW: LOCK_WAIT_SECONDS,
  // Another attempt is inserting the same event ID. A retry updates that record.
  DUPLICATE_VALUE: LOCK_WAIT_SECONDS,
  SERVER_UNAVAILABLE: LOCK_WAIT_SECONDS,
};
/** Codes for an object that isn't set up as documented, or for an org whose storage is full: every event would fail. */
const PAUSING: ReadonlySet<string> = new Set([
  'INVALID_FIELD',
  'INVALID_FIELD_FOR_INSERT_UPDATE',
  'STORAGE_LIMIT_EXCEEDED',
]);

const fields = z.strictObject({
  instanceUrl: vendorUrlField({
    title: 'Instance URL',
    description: "Your org's My Domain URL.",
    example: 'https://acme.my.salesforce.com',
    host: /^(?:[a-z0-9-]+\.)+my\.salesforce\.(?:com|mil)$/,
    path: /^\/$/,
    hint: 'Must be a My Domain URL such as https://acme.my.salesforce.com.',
  }),
  accessToken: headerSecretField({
    title: 'Access token',
    description:
      'An OAuth access token for a user who can create X402 events. It expires after 2 hours by default, so we recommend using a client ID and a client secret instead.',
  }).optional(),
  ...clientFields,
  refreshToken: refreshTokenField("Required only if the client credentials flow isn't enabled for your app."),
  grant: grantField(),
});
const config = requireCredential(fields, ['clientId', 'clientSecret'], ['refreshToken']);
type Config = z.infer<typeof config>;

/** Upserts one record per event by the event's ID (https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/dome_upsert.htm). */
export const salesforce = defineConnector<Config>({
  type: 'salesforce',
  title: 'Salesforce',
  category: 'CRM',
  description: 'Creates an X402 Event record for every event.',
  documentationUrl: 'https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/quickstart_oauth.htm',
  config,
  credential: oauthClient({
    vendor: 'Salesforce',
    tokenUrl: ({ instanceUrl }) => `${new URL(instanceUrl).origin}/services/oauth2/token`,
    sendsClientInBody: true,
    advice: CONNECT_AGAIN,
    grant: {
      vendor: 'salesforce',
      title: 'Salesforce',
      authorizationUrl: ({ instanceUrl }) =>
        authorizationUrl(`${new URL(instanceUrl).origin}/services/oauth2/authorize`, { scope: 'api refresh_token' }),
    },
  }),
  supportsEvent: () => true,

  build([event], config) {
    const row = eventRow(event);
    return {
      method: 'PATCH',
      url: `${objectUrl(config)}/${ID_FIELD}/${encodeURIComponent(event.id)}`,
      headers: { ...bearer(config.accessToken), 'content-type': 'application/json' },
      body: JSON.stringify({
        Kind__c: row.kind,
        Occurred_At__c: row.occurred_at,
        Payment_Id__c: row.payment_id,
        Endpoint__c: row.endpoint_id,
        Customer__c: row.customer,
        Amount_USD__c: row.amount_usd === null ? null : Number(row.amount_usd),
        Tx_Hash__c: row.tx_hash,
        Payload__c: payloadJson(row.payload, MAX_PAYLOAD_LENGTH),
      }),
    };
  },

  classify: (response, { config, now }) => classify(response, config, now),

  probe: {
    build: (config) => ({
      method: 'GET',
      url: `${objectUrl(config)}/describe`,
      headers: bearer(config.accessToken),
    }),
    classify(response, config) {
      if (response.statusCode !== 200) {
        return failedProbe('Salesforce', classify(response, config, new Date(0)));
      }
      return (
        describeProblem(response.body) ?? {
          ok: true,
          message: 'The token works, and the X402 event object has all required fields.',
        }
      );
    },
  },
});

function classify(response: ConnectorResponse, config: Config, now: Date): Outcome {
  const json = parseJson(response.body);
  const isSuccess = response.statusCode === 200 || response.statusCode === 201;
  if (response.statusCode === 204 || (isSuccess && valueAt(json, 'success') === true)) return { kind: 'delivered' };
  const error = isSuccess ? valueAt(json, 'errors', 0) : valueAt(json, 0);
  const code = String(valueAt(error, 'errorCode') ?? valueAt(error, 'statusCode') ?? '');
  const { accessToken, clientSecret = '', refreshToken = '' } = config;
  const detail = vendorText(valueAt(error, 'message'), [accessToken, clientSecret, refreshToken]);
  const wait = Object.hasOwn(PASSING, code) ? PASSING[code] : undefined;
  if (wait !== undefined) return retry(`Salesforce couldn't accept the event right now (${code}).`, wait);
  if (PAUSING.has(code))
    return {
      kind: 'pause',
      reason: reason(`Salesforce can't store events. Fix the object or free up storage: ${detail}`),
    };
  if (response.statusCode === 300) {
    return { kind: 'pause', reason: `Several records have the same event ID. Make ${ID_FIELD} unique in Salesforce.` };
  }
  if (response.statusCode === 401) {
    return { kind: 'pause', reason: rejectedToken('Salesforce', config, '2 hours by default', CONNECT_AGAIN) };
  }
  if (response.statusCode === 403) {
    return {
      kind: 'pause',
      reason: reason(`Salesforce denied access. Check the user's permissions${detail ? `: ${detail}` : '.'}`),
    };
  }
  if (isSuccess && valueAt(json, 'success') === false) {
    return { kind: 'drop', reason: reason(`Salesforce rejected the event: ${detail}`) };
  }
  // The response may be a sign-in page, for example.
  if (isSuccess) return retry('Salesforce responded without confirming the event.');
  return classifyByStatus('Salesforce', response, { expected: [], ...(detail && { detail }), missing: MISSING, now });
}

/**
 * What is wrong with the object, according to its description. Undefined if nothing is wrong, or if the description was
 * cut off.
 */
function describeProblem(body: string): { ok: false; message: string } | undefined {
  const list = valueAt(parseJson(body), 'fields');
  if (!looksLikeJson(body)) return { ok: false, message: 'Salesforce returned an unexpected response.' };
  if (!Array.isArray(list)) return undefined;
  const fields = new Map(list.map((field) => [valueAt(field, 'name'), field]));
  const missing = [ID_FIELD, ...FIELDS].filter((name) => valueAt(fields.get(name), 'createable') !== true);
  if (missing.length > 0)
    return { ok: false, message: `These fields are missing or read-only: ${missing.join(', ')}.` };
  const idField = fields.get(ID_FIELD);
  if (valueAt(idField, 'externalId') !== true || valueAt(idField, 'unique') !== true) {
    return { ok: false, message: `${ID_FIELD} must be marked as External ID and Unique.` };
  }
  return undefined;
}

function objectUrl({ instanceUrl }: Config): string {
  return `${new URL(instanceUrl).origin}/services/data/${API_VERSION}/sobjects/${OBJECT}`;
}

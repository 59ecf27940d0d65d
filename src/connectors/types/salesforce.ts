import { z } from 'zod';
import { type ConnectorResponse, defineConnector, type Outcome } from '../definition.ts';
import { secretField, vendorUrlField } from '../fields.ts';
import { classifyByStatus, looksLikeJson, parseJson, reason, retry, valueAt, vendorText } from '../shared/classify.ts';
import { eventRow, payloadJson } from '../shared/row.ts';

const API_VERSION = 'v66.0';
const OBJECT = 'X402_Event__c';
const ID_FIELD = 'Event_Id__c';
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

/** Error codes (https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/errorcodes.htm) that a later try can outlive. */
const PASSING: Readonly<Record<string, number>> = {
  REQUEST_LIMIT_EXCEEDED: DAILY_QUOTA_WAIT_SECONDS,
  UNABLE_TO_LOCK_ROW: LOCK_WAIT_SECONDS,
  // Two writers met at the unique event id; the next try updates the row that the other one made.
  DUPLICATE_VALUE: LOCK_WAIT_SECONDS,
  SERVER_UNAVAILABLE: LOCK_WAIT_SECONDS,
};
/** Codes that mean that the object is not made as documented, or the organisation is full: nothing passes until it is changed. */
const HOLDING: ReadonlySet<string> = new Set([
  'INVALID_FIELD',
  'INVALID_FIELD_FOR_INSERT_UPDATE',
  'STORAGE_LIMIT_EXCEEDED',
]);

const config = z.strictObject({
  instanceUrl: vendorUrlField({
    title: 'Instance URL',
    description: 'The My Domain address of the organisation.',
    example: 'https://acme.my.salesforce.com',
    host: /^(?:[a-z0-9-]+\.)+my\.salesforce\.(?:com|mil)$/,
    path: /^\/$/,
    hint: 'Must be the My Domain address, like https://acme.my.salesforce.com.',
  }),
  accessToken: secretField({
    title: 'Access token',
    description:
      'OAuth access token of a user who may create X402 events. It ends with the session, after 2 hours by default.',
    pattern: /^[\x21-\x7e]+$/,
    hint: 'Must not contain spaces.',
  }),
});
type Config = z.infer<typeof config>;

/** One record per event, upserted by its id (https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/dome_upsert.htm). */
export const salesforce = defineConnector<Config>({
  type: 'salesforce',
  title: 'Salesforce',
  category: 'CRM',
  description: 'Writes one X402 Event record per event.',
  documentationUrl: 'https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/quickstart_oauth.htm',
  config,
  carries: () => true,

  build([event], config) {
    const row = eventRow(event);
    return {
      method: 'PATCH',
      url: `${objectUrl(config)}/${ID_FIELD}/${encodeURIComponent(event.id)}`,
      headers: { ...authorization(config), 'content-type': 'application/json' },
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
      headers: authorization(config),
    }),
    classify(response, config) {
      if (response.statusCode === 404)
        return { ok: false, message: `The object ${OBJECT} was not found. Create it first.` };
      if (response.statusCode !== 200) {
        const outcome = classify(response, config, new Date(0));
        return { ok: false, message: 'reason' in outcome ? outcome.reason : 'Salesforce did not answer as expected.' };
      }
      return describeProblem(response.body) ?? { ok: true, message: 'The object was found and may be written.' };
    },
  },
});

function classify(response: ConnectorResponse, { accessToken }: Config, now: Date): Outcome {
  const json = parseJson(response.body);
  const isSuccess = response.statusCode === 200 || response.statusCode === 201;
  if (response.statusCode === 204 || (isSuccess && valueAt(json, 'success') === true)) return { kind: 'delivered' };
  const error = isSuccess ? valueAt(json, 'errors', 0) : valueAt(json, 0);
  const code = String(valueAt(error, 'errorCode') ?? valueAt(error, 'statusCode') ?? '');
  const detail = vendorText(valueAt(error, 'message'), [accessToken]);
  const wait = Object.hasOwn(PASSING, code) ? PASSING[code] : undefined;
  if (wait !== undefined) return retry(`Salesforce could not take the event just now (${code}).`, wait);
  if (HOLDING.has(code)) return { kind: 'pause', reason: reason(`Salesforce cannot store events: ${detail}`) };
  if (response.statusCode === 300) {
    return { kind: 'pause', reason: `Make ${ID_FIELD} unique in Salesforce: several records have the same event id.` };
  }
  if (response.statusCode === 401) {
    return { kind: 'pause', reason: 'The Salesforce session has ended. Save a new access token.' };
  }
  if (response.statusCode === 403) {
    return {
      kind: 'pause',
      reason: reason(`Salesforce denied access${detail ? `: ${detail}` : '. Check the rights of the user.'}`),
    };
  }
  if (isSuccess && valueAt(json, 'success') === false) {
    return { kind: 'drop', reason: reason(`Salesforce did not accept the event: ${detail}`) };
  }
  // A page that asks to sign in, for example.
  if (isSuccess) return retry('Salesforce answered without confirming the event.');
  return classifyByStatus(response, { expected: [], ...(detail && { detail }), now });
}

/** What keeps events out according to the description of the object; undefined when it is as documented or cut off. */
function describeProblem(body: string): { ok: false; message: string } | undefined {
  const list = valueAt(parseJson(body), 'fields');
  if (!looksLikeJson(body)) return { ok: false, message: 'Salesforce did not answer as expected.' };
  if (!Array.isArray(list)) return undefined;
  const fields = new Map(list.map((field) => [valueAt(field, 'name'), field]));
  const missing = [ID_FIELD, ...FIELDS].filter((name) => valueAt(fields.get(name), 'createable') !== true);
  if (missing.length > 0)
    return { ok: false, message: `These fields are missing or may not be written: ${missing.join(', ')}.` };
  const idField = fields.get(ID_FIELD);
  if (valueAt(idField, 'externalId') !== true || valueAt(idField, 'unique') !== true) {
    return { ok: false, message: `${ID_FIELD} must be marked as External ID and Unique.` };
  }
  return undefined;
}

function objectUrl({ instanceUrl }: Config): string {
  return `${new URL(instanceUrl).origin}/services/data/${API_VERSION}/sobjects/${OBJECT}`;
}

function authorization({ accessToken }: Config): Record<string, string> {
  return { authorization: `Bearer ${accessToken}`, accept: 'application/json' };
}

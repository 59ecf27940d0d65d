import { z } from 'zod';
import {
  type ConnectorEvent,
  type ConnectorRequest,
  type ConnectorResponse,
  defineConnector,
  type Outcome,
} from '../definition.ts';
import { secretField } from '../fields.ts';
import { classifyByStatus, parseJson, reason, retry, valueAt, vendorText } from '../shared/classify.ts';

const API_URL = 'https://api.hubapi.com';
/** HubSpot versions its paths by date and supports each for 18 months (https://developers.hubspot.com/docs/developer-tooling/platform/versioning). */
const API_VERSION = '2026-03';
const WALLET = 'x402_wallet';
const BURST_WAIT_SECONDS = 10;
const DAILY_QUOTA_WAIT_SECONDS = 3600;

/** The contact properties, made on first use. The wallet is unique: it is how a contact is found again. */
const PROPERTIES = [
  { name: WALLET, label: 'x402 wallet', type: 'string', fieldType: 'text', hasUniqueValue: true },
  { name: 'x402_first_payment_at', label: 'x402 first payment', type: 'datetime', fieldType: 'date' },
  { name: 'x402_total_usd', label: 'x402 total (USD)', type: 'number', fieldType: 'number' },
  { name: 'x402_payments', label: 'x402 payments', type: 'number', fieldType: 'number' },
  { name: 'x402_milestone', label: 'x402 milestone (USD)', type: 'number', fieldType: 'number' },
].map((property) => ({ ...property, groupName: 'contactinformation' }));

const config = z.strictObject({
  accessToken: secretField({
    title: 'Access token',
    description:
      'A service key or private app token with the scopes crm.objects.contacts.write and crm.schemas.contacts.write.',
    pattern: /^[\x21-\x7e]+$/,
    hint: 'Must not contain spaces.',
  }),
});
type Config = z.infer<typeof config>;

/** One contact per paying wallet, kept up to date (https://developers.hubspot.com/docs/api-reference/latest/crm/objects/contacts/batch/upsert-contacts). */
export const hubspot = defineConnector<Config>({
  type: 'hubspot',
  title: 'HubSpot',
  category: 'CRM',
  description: 'Keeps one contact per paying customer, with the first payment, the total and the last milestone.',
  documentationUrl:
    'https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/account-service-keys',
  config,
  carries: (kind) => kind === 'customer.first_payment' || kind === 'customer.milestone',

  build([event], config) {
    if (event.test) return { skip: 'A test event makes no contact. The connection test checks the token instead.' };
    const properties = contactProperties(event);
    if (!properties) return { skip: 'HubSpot receives first payments and milestones of customers only.' };
    return upsert(event, properties, config);
  },

  classify(response, { config, events, step, attemptNumber, now }) {
    if (step === 'create-properties') return afterProperties(response, events[0], config, now);
    if (step === 'upsert' && isUnknownProperty(response)) return { kind: 'next', request: createProperties(config) };
    return classifyUpsert(response, config, attemptNumber, now);
  },

  probe: {
    build: (config) => ({
      method: 'GET',
      url: `${API_URL}/crm/properties/${API_VERSION}/contacts/${WALLET}`,
      headers: authorization(config),
    }),
    classify(response, config) {
      if (response.statusCode === 200 && valueAt(parseJson(response.body), 'name') === WALLET) {
        return { ok: true, message: 'The token works and the properties are there.' };
      }
      if (response.statusCode === 404) {
        return { ok: true, message: 'The token works. The contact properties are made with the first event.' };
      }
      const outcome = classifyUpsert(response, config, 1, new Date(0));
      return { ok: false, message: 'reason' in outcome ? outcome.reason : 'HubSpot did not answer as expected.' };
    },
  },
});

/** Totals so far, never increments: writing the same event twice changes nothing. */
function contactProperties(event: ConnectorEvent): Record<string, string> | undefined {
  if (event.type === 'customer.first_payment') {
    // No total here: when this event comes late, the contact already has a higher one.
    return { [WALLET]: event.data.payer.toLowerCase(), x402_first_payment_at: event.timestamp };
  }
  if (event.type !== 'customer.milestone') return undefined;
  return {
    [WALLET]: event.data.payer.toLowerCase(),
    x402_total_usd: event.data.totalUsd,
    x402_payments: String(event.data.paymentCount),
    x402_milestone: event.data.milestoneUsd,
  };
}

function upsert(
  event: ConnectorEvent,
  properties: Record<string, string>,
  config: Config,
  step = 'upsert',
): ConnectorRequest {
  const input = { idProperty: WALLET, id: properties[WALLET], objectWriteTraceId: event.id, properties };
  return {
    method: 'POST',
    url: `${API_URL}/crm/objects/${API_VERSION}/contacts/batch/upsert`,
    headers: { ...authorization(config), 'content-type': 'application/json' },
    body: JSON.stringify({ inputs: [input] }),
    step,
  };
}

function createProperties(config: Config): ConnectorRequest {
  return {
    method: 'POST',
    url: `${API_URL}/crm/properties/${API_VERSION}/contacts/batch/create`,
    headers: { ...authorization(config), 'content-type': 'application/json' },
    body: JSON.stringify({ inputs: PROPERTIES }),
    step: 'create-properties',
  };
}

/** Some of the properties may have existed before (207, 409): whether the contact can be written now, writing it shows. */
function afterProperties(
  response: ConnectorResponse,
  event: ConnectorEvent | undefined,
  config: Config,
  now: Date,
): Outcome {
  const properties = event && contactProperties(event);
  if (!properties || ![200, 201, 207, 409].includes(response.statusCode)) {
    return classifyUpsert(response, config, 1, now);
  }
  return { kind: 'next', request: upsert(event, properties, config, 'upsert-again') };
}

function isUnknownProperty(response: ConnectorResponse): boolean {
  return (
    [207, 400, 404].includes(response.statusCode) &&
    /PROPERTY_DOESNT_EXIST|property .*does not exist/i.test(response.body)
  );
}

function classifyUpsert(response: ConnectorResponse, config: Config, attemptNumber: number, now: Date): Outcome {
  const { statusCode } = response;
  const json = parseJson(response.body);
  // Even a single contact that fails comes as 207, with the reason inside.
  const isPartial = statusCode === 207 || Number(valueAt(json, 'numErrors') ?? 0) > 0;
  const problem = isPartial ? valueAt(json, 'errors', 0) : json;
  const category = String(valueAt(problem, 'category') ?? '');
  const detail = vendorText(valueAt(problem, 'message'), [config.accessToken]);
  if (isUnknownProperty(response)) {
    return {
      kind: 'pause',
      reason: 'HubSpot lacks the x402 contact properties. Create them as the documentation shows.',
    };
  }
  if (statusCode === 429) {
    const isDaily = valueAt(json, 'policyName') === 'DAILY';
    const outcome = classifyByStatus(response, { now });
    const wait = isDaily ? DAILY_QUOTA_WAIT_SECONDS : BURST_WAIT_SECONDS;
    return outcome.kind === 'retry' ? { ...outcome, afterSeconds: outcome.afterSeconds ?? wait } : outcome;
  }
  if (statusCode === 401 || statusCode === 403) {
    return {
      kind: 'pause',
      reason: reason(`HubSpot refused the token. Check it and its scopes${detail ? `: ${detail}` : '.'}`),
    };
  }
  // 423: the account is locked by a bulk job; 477: it is being moved to another data centre.
  if (statusCode === 423 || statusCode === 477) return retry('The HubSpot account is busy with another job.', 60);
  if (statusCode === 409 || (isPartial && category === 'CONFLICT')) {
    if (attemptNumber === 1) return retry('HubSpot was changing the same contact.', BURST_WAIT_SECONDS);
    return {
      kind: 'drop',
      reason: reason(`HubSpot reports a conflict with another contact${detail && `: ${detail}`}`),
    };
  }
  if (isPartial) {
    if (category === 'VALIDATION_ERROR')
      return { kind: 'drop', reason: reason(`HubSpot did not accept the contact: ${detail}`) };
    return retry('HubSpot could not write the contact just now.');
  }
  if (statusCode === 200 && json === undefined) return retry('HubSpot answered without confirming the contact.');
  return classifyByStatus(response, { expected: [200], ...(detail && { detail }), now });
}

function authorization({ accessToken }: Config): Record<string, string> {
  return { authorization: `Bearer ${accessToken}`, accept: 'application/json' };
}

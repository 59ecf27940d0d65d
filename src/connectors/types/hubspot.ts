import { z } from 'zod';
import {
  type ConnectorEvent,
  type ConnectorRequest,
  type ConnectorResponse,
  defineConnector,
  type Outcome,
} from '../definition.ts';
import { headerSecretField } from '../fields.ts';
import { bearer } from '../shared/bearer.ts';
import { classifyByStatus, failedProbe, parseJson, reason, retry, valueAt, vendorText } from '../shared/classify.ts';

const API_URL = 'https://api.hubapi.com';
/** HubSpot versions its paths by date and supports each version for 18 months (https://developers.hubspot.com/docs/developer-tooling/platform/versioning). */
const API_VERSION = '2026-03';
const WALLET = 'x402_wallet';
const BURST_WAIT_SECONDS = 10;
const DAILY_QUOTA_WAIT_SECONDS = 3600;

/** The contact properties, created on first use. The wallet is unique and identifies the contact. */
const PROPERTIES = [
  { name: WALLET, label: 'x402 wallet', type: 'string', fieldType: 'text', hasUniqueValue: true },
  { name: 'x402_first_payment_at', label: 'x402 first payment', type: 'datetime', fieldType: 'date' },
  { name: 'x402_total_usd', label: 'x402 total (USD)', type: 'number', fieldType: 'number' },
  { name: 'x402_payments', label: 'x402 payments', type: 'number', fieldType: 'number' },
  { name: 'x402_milestone', label: 'x402 milestone (USD)', type: 'number', fieldType: 'number' },
].map((property) => ({ ...property, groupName: 'contactinformation' }));

const config = z.strictObject({
  accessToken: headerSecretField({
    title: 'Access token',
    description:
      'A service key or private app token with the crm.objects.contacts.write and crm.schemas.contacts.write scopes.',
  }),
});
type Config = z.infer<typeof config>;

/** Keeps one contact per paying wallet up to date (https://developers.hubspot.com/docs/api-reference/latest/crm/objects/contacts/batch/upsert-contacts). */
export const hubspot = defineConnector<Config>({
  type: 'hubspot',
  title: 'HubSpot',
  category: 'CRM',
  description:
    'Maintains a contact for each paying customer, with their first payment, total spend, and latest milestone.',
  documentationUrl:
    'https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/account-service-keys',
  config,
  carries: (kind) => kind === 'customer.first_payment' || kind === 'customer.milestone',
  // The limit of the smallest plan.
  vendorLimit: {
    count: 100,
    perSeconds: 10,
    burst: 10,
    documentationUrl: 'https://developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines',
  },

  build([event], config) {
    if (event.test) return { skip: "Test events don't create contacts. Use the connection test to check the token." };
    const properties = contactProperties(event);
    if (!properties) return { skip: 'Only first payments and milestones are sent to HubSpot.' };
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
      headers: bearer(config.accessToken),
    }),
    classify(response, config) {
      if (response.statusCode === 200 && valueAt(parseJson(response.body), 'name') === WALLET) {
        return { ok: true, message: 'The token works and the contact properties exist.' };
      }
      if (response.statusCode === 404) {
        return { ok: true, message: 'The token works. The contact properties will be created with the first event.' };
      }
      return failedProbe('HubSpot', classifyUpsert(response, config, 1, new Date(0)));
    },
  },
});

/** The values are totals, never increments, so writing the same event twice changes nothing. */
function contactProperties(event: ConnectorEvent): Record<string, string> | undefined {
  if (event.type === 'customer.first_payment') {
    // Sends no total: if this event arrives late, the contact already has a higher one.
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
    headers: { ...bearer(config.accessToken), 'content-type': 'application/json' },
    body: JSON.stringify({ inputs: [input] }),
    step,
  };
}

function createProperties(config: Config): ConnectorRequest {
  return {
    method: 'POST',
    url: `${API_URL}/crm/properties/${API_VERSION}/contacts/batch/create`,
    headers: { ...bearer(config.accessToken), 'content-type': 'application/json' },
    body: JSON.stringify({ inputs: PROPERTIES }),
    step: 'create-properties',
  };
}

/** Some properties may already exist (207, 409). Writing the contact shows whether they all do. */
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
  // HubSpot returns 207 even if the only contact fails, with the reason in the body.
  const isPartial = statusCode === 207 || Number(valueAt(json, 'numErrors') ?? 0) > 0;
  const problem = isPartial ? valueAt(json, 'errors', 0) : json;
  const category = String(valueAt(problem, 'category') ?? '');
  const detail = vendorText(valueAt(problem, 'message'), [config.accessToken]);
  if (isUnknownProperty(response)) {
    return {
      kind: 'pause',
      reason: 'The x402 contact properties are missing from HubSpot. Create them as described in the documentation.',
    };
  }
  if (statusCode === 429) {
    const isDaily = valueAt(json, 'policyName') === 'DAILY';
    const outcome = classifyByStatus('HubSpot', response, { now });
    const wait = isDaily ? DAILY_QUOTA_WAIT_SECONDS : BURST_WAIT_SECONDS;
    return outcome.kind === 'retry' ? { ...outcome, afterSeconds: outcome.afterSeconds ?? wait } : outcome;
  }
  if (statusCode === 401 || statusCode === 403) {
    return {
      kind: 'pause',
      reason: reason(`HubSpot rejected the token. Check the token and its scopes${detail ? `: ${detail}` : '.'}`),
    };
  }
  // 423: a bulk job has locked the account. 477: the account is being moved to another data center.
  if (statusCode === 423 || statusCode === 477) return retry('The HubSpot account is locked by another job.', 60);
  if (statusCode === 409 || (isPartial && category === 'CONFLICT')) {
    if (attemptNumber === 1) return retry('HubSpot was already updating this contact.', BURST_WAIT_SECONDS);
    return {
      kind: 'drop',
      reason: reason(`HubSpot reported a conflict with another contact${detail && `: ${detail}`}`),
    };
  }
  if (isPartial) {
    if (category === 'VALIDATION_ERROR')
      return { kind: 'drop', reason: reason(`HubSpot rejected the contact: ${detail}`) };
    return retry("HubSpot couldn't save the contact right now.");
  }
  if (statusCode === 200 && json === undefined) return retry('HubSpot responded without confirming the contact.');
  return classifyByStatus('HubSpot', response, { expected: [200], ...(detail && { detail }), now });
}

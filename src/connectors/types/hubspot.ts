import { z } from 'zod';
import { type ClassifyContext, type ConnectorEvent, defineConnector, type Outcome } from '../definition.ts';
import type { ConnectorRequest, ConnectorResponse } from '../exchange.ts';
import { headerSecretField } from '../fields.ts';
import { bearer } from '../shared/bearer.ts';
import { classifyByStatus, failedProbe, parseJson, reason, retry, valueAt, vendorText } from '../shared/classify.ts';
import { shortHex } from '../shared/message.ts';
import { apiUrl, createProperties, getWallet, isNotUnique, MISSING, NOT_UNIQUE, WALLET } from './hubspot-properties.ts';

const BURST_WAIT_SECONDS = 10;
const DAILY_QUOTA_WAIT_SECONDS = 3600;

const config = z.strictObject({
  accessToken: headerSecretField({
    title: 'Access token',
    description:
      'A service key or private app token with the crm.objects.contacts.write, crm.schemas.contacts.read, and crm.schemas.contacts.write scopes.',
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
  supportsEvent: (eventType) => eventType === 'customer.first_payment' || eventType === 'customer.milestone',
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

  classify(response, context) {
    const { config, events, step, attemptNumber, now } = context;
    const [event] = events;
    const properties = event && contactProperties(event);
    if (!properties) return { kind: 'drop', reason: 'Only first payments and milestones are sent to HubSpot.' };
    const again = (step: string): Outcome => ({ kind: 'next', request: upsert(event, properties, config, step) });
    switch (step) {
      case 'create-properties':
        // Some properties may already exist (207, 409). Writing the contact shows whether they all do.
        return [200, 201, 207, 409].includes(response.statusCode)
          ? again('upsert-again')
          : classifyUpsert(response, config, 1, now);
      case 'check':
      case 'check-again':
        return afterCheck(response, step, config, now) ?? again('upsert-last');
      case 'name':
        return afterName(response, config, now, properties);
    }
    if (step === 'upsert' && isUnknownProperty(response)) return { kind: 'next', request: createProperties(config) };
    // HubSpot's message doesn't always say that the wallet property doesn't require unique values, so the property
    // itself is checked.
    if (step !== 'upsert-last' && isInvalid(response)) {
      return { kind: 'next', request: getWallet(config, step === 'upsert' ? 'check' : 'check-again') };
    }
    const outcome = classifyUpsert(response, config, attemptNumber, now);
    return outcome.kind === 'delivered' ? nameIfNew(response, context, properties) : outcome;
  },

  probe: {
    build: (config) => getWallet(config),
    classify(response, config) {
      if (isNotUnique(response)) return { ok: false, message: NOT_UNIQUE };
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

type ContactProperties = { [WALLET]: string } & Record<string, string>;

/** The values are totals, never increments, so writing the same event twice changes nothing. */
function contactProperties(event: ConnectorEvent): ContactProperties | undefined {
  if (event.type === 'customer.first_payment') {
    // Doesn't send a total: if this event arrives late, the contact already has a higher one.
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
  properties: ContactProperties,
  config: Config,
  step = 'upsert',
): ConnectorRequest {
  const input = { idProperty: WALLET, id: properties[WALLET], objectWriteTraceId: event.id, properties };
  return {
    method: 'POST',
    url: apiUrl('objects', 'contacts/batch/upsert'),
    headers: { ...bearer(config.accessToken), 'content-type': 'application/json' },
    body: JSON.stringify({ inputs: [input] }),
    step,
  };
}

/** The outcome after the wallet property was read, or undefined if the contact should be sent once more. */
function afterCheck(response: ConnectorResponse, step: string, config: Config, now: Date): Outcome | undefined {
  if (response.statusCode === 404) {
    return step === 'check' ? { kind: 'next', request: createProperties(config) } : { kind: 'pause', reason: MISSING };
  }
  if (isNotUnique(response)) return { kind: 'pause', reason: NOT_UNIQUE };
  const outcome = classifyUpsert(response, config, 1, now);
  // A write-only token can't read the property.
  return outcome.kind === 'retry' || response.statusCode === 401 ? outcome : undefined;
}

/**
 * Gives a new contact a name, because otherwise it would appear blank in lists. A contact that already exists keeps its
 * name. The contact is remembered until it has one, in case the request has to be retried.
 */
function nameIfNew(
  response: ConnectorResponse,
  { config, memory }: ClassifyContext<Config>,
  { [WALLET]: wallet }: ContactProperties,
): Outcome {
  const result = valueAt(parseJson(response.body), 'results', 0);
  const id = valueAt(result, 'new') === true ? valueAt(result, 'id') : memory[unnamedKey(wallet)];
  if (typeof id !== 'string' || !/^\d{1,20}$/.test(id)) return { kind: 'delivered' };
  const request: ConnectorRequest = {
    method: 'PATCH',
    url: apiUrl('objects', `contacts/${id}`),
    headers: { ...bearer(config.accessToken), 'content-type': 'application/json' },
    body: JSON.stringify({ properties: { firstname: 'Wallet', lastname: shortHex(wallet) } }),
    step: 'name',
  };
  return { kind: 'next', request, remember: { [unnamedKey(wallet)]: id } };
}

/** The contact was already written, so only temporary problems and rejected credentials hold up the delivery. */
function afterName(
  response: ConnectorResponse,
  config: Config,
  now: Date,
  { [WALLET]: wallet }: ContactProperties,
): Outcome {
  const outcome = classifyUpsert(response, config, 1, now);
  if (outcome.kind === 'retry' || outcome.kind === 'pause') return outcome;
  const remember = { [unnamedKey(wallet)]: '' };
  if (outcome.kind === 'delivered') return { ...outcome, remember };
  return { kind: 'delivered', note: "HubSpot didn't accept a name for the contact.", remember };
}

function unnamedKey(wallet: string): string {
  return `unnamed:${wallet}`;
}

/** Whether HubSpot rejected the request itself, for a reason other than a property that doesn't exist. */
function isInvalid(response: ConnectorResponse): boolean {
  const problem = problemOf(response);
  return (
    (response.statusCode === 400 || valueAt(problem, 'category') === 'VALIDATION_ERROR') && !isUnknownProperty(response)
  );
}

/** The error in a response. HubSpot returns 207 even if the only contact fails, with the reason in the body. */
function problemOf(response: ConnectorResponse): unknown {
  const json = parseJson(response.body);
  return isPartialFailure(response.statusCode, json) ? valueAt(json, 'errors', 0) : json;
}

function isPartialFailure(statusCode: number, json: unknown): boolean {
  return statusCode === 207 || Number(valueAt(json, 'numErrors') ?? 0) > 0;
}

function isUnknownProperty(response: ConnectorResponse): boolean {
  return (
    [207, 400, 404].includes(response.statusCode) &&
    /PROPERTY_DOESNT_EXIST|property .{0,200}does not exist/i.test(response.body)
  );
}

function classifyUpsert(response: ConnectorResponse, config: Config, attemptNumber: number, now: Date): Outcome {
  const { statusCode } = response;
  const json = parseJson(response.body);
  const isPartial = isPartialFailure(statusCode, json);
  const problem = problemOf(response);
  const category = String(valueAt(problem, 'category') ?? '');
  const detail = vendorText(valueAt(problem, 'message'), [config.accessToken]);
  if (isUnknownProperty(response)) {
    return { kind: 'pause', reason: MISSING };
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

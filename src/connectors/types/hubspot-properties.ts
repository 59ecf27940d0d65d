import type { ConnectorRequest, ConnectorResponse } from '../exchange.ts';
import { bearer } from '../shared/bearer.ts';
import { parseJson, valueAt } from '../shared/classify.ts';

const API_URL = 'https://api.hubapi.com';
/** HubSpot versions its paths by date and supports each version for 18 months (https://developers.hubspot.com/docs/developer-tooling/platform/versioning). */
const API_VERSION = '2026-03';
export const WALLET = 'x402_wallet';

/** The contact properties, created on first use. The wallet is unique and identifies the contact. */
const PROPERTIES = [
  { name: WALLET, label: 'x402 wallet', type: 'string', fieldType: 'text', hasUniqueValue: true },
  { name: 'x402_first_payment_at', label: 'x402 first payment', type: 'datetime', fieldType: 'date' },
  { name: 'x402_total_usd', label: 'x402 total (USD)', type: 'number', fieldType: 'number' },
  { name: 'x402_payments', label: 'x402 payments', type: 'number', fieldType: 'number' },
  { name: 'x402_milestone', label: 'x402 milestone (USD)', type: 'number', fieldType: 'number' },
].map((property) => ({ ...property, groupName: 'contactinformation' }));

/** What to do if the wallet property doesn't require unique values. HubSpot can't change that later. */
export const NOT_UNIQUE = `The HubSpot property ${WALLET} doesn't require unique values. Under Settings > Properties, archive it, and then delete it from the archive. Then save this connector to create the property again.`;

export const MISSING =
  'The x402 contact properties are missing from HubSpot. Create them as described in the documentation.';

type Token = { accessToken: string };

/** The URL for a path, such as `objects` and `contacts/batch/upsert`. */
export function apiUrl(group: 'objects' | 'properties', path: string): string {
  return `${API_URL}/crm/${group}/${API_VERSION}/${path}`;
}

export function createProperties({ accessToken }: Token): ConnectorRequest {
  return {
    method: 'POST',
    url: apiUrl('properties', 'contacts/batch/create'),
    headers: { ...bearer(accessToken), 'content-type': 'application/json' },
    body: JSON.stringify({ inputs: PROPERTIES }),
    step: 'create-properties',
  };
}

/** Reads the wallet property. */
export function getWallet({ accessToken }: Token, step: 'check' | 'check-again' = 'check'): ConnectorRequest {
  return { method: 'GET', url: apiUrl('properties', `contacts/${WALLET}`), headers: bearer(accessToken), step };
}

/** Whether the wallet property exists but doesn't require unique values. HubSpot then rejects every contact. */
export function isNotUnique({ statusCode, body }: ConnectorResponse): boolean {
  const property = parseJson(body);
  return statusCode === 200 && valueAt(property, 'name') === WALLET && valueAt(property, 'hasUniqueValue') !== true;
}

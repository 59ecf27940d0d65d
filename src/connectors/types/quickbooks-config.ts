import { z } from 'zod';
import type { ConnectorRequest } from '../exchange.ts';
import { choiceField, headerSecretField, textField } from '../fields.ts';
import { bearer } from '../shared/bearer.ts';
import { requireCredential } from '../shared/credential-rule.ts';
import { clientFields, grantField, refreshTokenField } from '../shared/oauth-client.ts';

const HOSTS = { production: 'quickbooks.api.intuit.com', sandbox: 'sandbox-quickbooks.api.intuit.com' } as const;
const MINOR_VERSION = '75';
const ID = /^\d{1,20}$/;
const ID_HINT = 'Must be digits only.';

export const CONNECT_AGAIN = 'Connect your app to the company again, and save the new refresh token.';
export const ITEM_NAME = 'x402 API revenue';

const fields = z.strictObject({
  accessToken: headerSecretField({
    title: 'Access token',
    description:
      'An OAuth 2.0 access token with the com.intuit.quickbooks.accounting scope. It expires after an hour, so we recommend using a client ID, a client secret, and a refresh token instead.',
  }).optional(),
  realmId: textField({
    title: 'Company ID',
    description: "Your company's realm ID, shown with the token and under Account and Settings > Billing.",
    example: '9130355377388383',
    pattern: /^\d{5,25}$/,
    hint: 'Must be digits only.',
  }),
  environment: choiceField(['production', 'sandbox'], {
    title: 'Environment',
    description: 'Choose sandbox for a test company in an Intuit developer account. Default: production.',
    decidesAddress: true,
  }).optional(),
  itemId: textField({
    title: 'Item ID',
    description: `The ID of the service item to book revenue to. Default: the item named "${ITEM_NAME}".`,
    example: '21',
    pattern: ID,
    hint: ID_HINT,
  }).optional(),
  depositAccountId: textField({
    title: 'Deposit account ID',
    description: "The ID of the US dollar account that represents the wallet. Default: QuickBooks' Undeposited Funds.",
    example: '35',
    pattern: ID,
    hint: ID_HINT,
  }).optional(),
  taxCodeId: textField({
    title: 'Tax code ID',
    description:
      'The tax code for the receipts: an ID, or TAX or NON in the US. Companies with VAT or GST require one.',
    example: 'NON',
    pattern: /^(?:TAX|NON|\d{1,20})$/,
    hint: 'Must be TAX, NON, or digits only.',
  }).optional(),
  ...clientFields,
  refreshToken: refreshTokenField(
    "The refresh token from your app's OAuth 2.0 playground. Intuit replaces it regularly, and it expires after five years.",
  ),
  grant: grantField(),
});
export const config = requireCredential(fields, ['clientId', 'clientSecret', 'refreshToken']);
export type Config = z.infer<typeof config>;

export function get(config: Config, path: string, step: string): ConnectorRequest {
  return { method: 'GET', url: apiUrl(config, path).href, headers: bearer(config.accessToken), step };
}

export function query(config: Config, statement: string, step: string): ConnectorRequest {
  const request = get(config, 'query', step);
  return { ...request, url: `${request.url}&query=${encodeURIComponent(statement)}` };
}

export function apiUrl({ environment = 'production', realmId }: Config, path: string): URL {
  return new URL(`https://${HOSTS[environment]}/v3/company/${realmId}/${path}?minorversion=${MINOR_VERSION}`);
}

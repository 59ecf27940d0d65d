import type { VariableValues } from './variables.ts';

/**
 * Vendors that the operator can register an OAuth app with, so that sellers can connect their accounts with a button.
 */
export const OAUTH_VENDORS = ['google', 'salesforce', 'xero', 'quickbooks'] as const;
export type OauthVendor = (typeof OAUTH_VENDORS)[number];

/** One of the operator's OAuth apps. */
export type OauthApp = { clientId: string; clientSecret: string };
export type OauthApps = Readonly<Partial<Record<OauthVendor, OauthApp>>>;

/**
 * Reads the app registered with a vendor, if any.
 *
 * @throws Error if only one of its variables is set, or if the vendor couldn't redirect sellers back to this service.
 */
export function readOauthApp(vendor: OauthVendor, variables: VariableValues): OauthApp | undefined {
  const name = `CONNECT_${vendor.toUpperCase() as Uppercase<OauthVendor>}` as const;
  const clientId = variables[`${name}_CLIENT_ID`];
  const clientSecret = variables[`${name}_CLIENT_SECRET`];
  if (clientId === undefined && clientSecret === undefined) return undefined;
  if (clientId === undefined || clientSecret === undefined)
    throw new Error(`must be set together with ${name}_CLIENT_SECRET`);
  if (!variables.PUBLIC_URL) throw new Error('must be set together with PUBLIC_URL');
  return { clientId, clientSecret };
}

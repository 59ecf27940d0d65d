import type { VariableValues } from './variables.ts';

/** Vendors with whom the operator can register an OAuth app, so that sellers connect their accounts with a button. */
export const OAUTH_VENDORS = ['google', 'salesforce', 'xero', 'quickbooks'] as const;
export type OauthVendor = (typeof OAUTH_VENDORS)[number];

/** An OAuth app of the operator. */
export type OauthApp = { clientId: string; clientSecret: string };
export type OauthApps = Readonly<Partial<Record<OauthVendor, OauthApp>>>;

/**
 * Reads the app that is registered with a vendor, if there is one.
 *
 * @throws Error if only one of its variables is set, or if the vendor couldn't return sellers to this service.
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

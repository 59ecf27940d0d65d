import type { ConnectorType } from '../../../../src/connectors/definition.ts';
import { quickbooks, xero } from './accounting.ts';
import { amplitude, ga4, mixpanel, segment } from './analytics.ts';
import { make, n8n, zapier } from './automation.ts';
import { hubspot, linear, salesforce } from './business.ts';
import { discord, resend, sendgrid, slack, teams, telegram, twilio } from './communication.ts';
import { bigquery, dune, googleSheets, supabase } from './data.ts';
import { datadog, opsgenie, pagerduty } from './monitoring.ts';
import type { Vendor } from './vendor.ts';

/** Creates a new fake vendor for each type, with nothing stored. */
export const VENDORS: Record<ConnectorType, () => Vendor> = {
  slack,
  discord,
  email: sendgrid,
  resend,
  telegram,
  teams,
  twilio,
  segment,
  mixpanel,
  amplitude,
  ga4,
  zapier,
  n8n,
  make,
  pagerduty,
  datadog,
  opsgenie,
  bigquery,
  supabase,
  'google-sheets': googleSheets,
  dune,
  hubspot,
  salesforce,
  linear,
  quickbooks,
  xero,
};

import { CONNECTOR_TYPES, type ConnectorDefinition, type ConnectorType } from './definition.ts';
import { amplitude } from './types/amplitude.ts';
import { bigquery } from './types/bigquery.ts';
import { datadog } from './types/datadog.ts';
import { discord } from './types/discord.ts';
import { dune } from './types/dune.ts';
import { email } from './types/email.ts';
import { ga4 } from './types/ga4.ts';
import { googleSheets } from './types/google-sheets.ts';
import { hubspot } from './types/hubspot.ts';
import { linear } from './types/linear.ts';
import { make } from './types/make.ts';
import { mixpanel } from './types/mixpanel.ts';
import { n8n } from './types/n8n.ts';
import { opsgenie } from './types/opsgenie.ts';
import { pagerduty } from './types/pagerduty.ts';
import { quickbooks } from './types/quickbooks.ts';
import { resend } from './types/resend.ts';
import { salesforce } from './types/salesforce.ts';
import { segment } from './types/segment.ts';
import { slack } from './types/slack.ts';
import { supabase } from './types/supabase.ts';
import { teams } from './types/teams.ts';
import { telegram } from './types/telegram.ts';
import { twilio } from './types/twilio.ts';
import { xero } from './types/xero.ts';
import { zapier } from './types/zapier.ts';

/** Every connector type. A new one is a file in `types/` and a line here. */
const DEFINITIONS = [
  slack,
  discord,
  email,
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
  googleSheets,
  dune,
  hubspot,
  salesforce,
  linear,
  quickbooks,
  xero,
] as unknown as readonly ConnectorDefinition[];

const BY_TYPE = new Map<string, ConnectorDefinition>(DEFINITIONS.map((definition) => [definition.type, definition]));

/** All definitions, in the order of the documented list. */
export function listConnectors(): readonly ConnectorDefinition[] {
  return CONNECTOR_TYPES.flatMap((type) => BY_TYPE.get(type) ?? []);
}

/** The definition of a type, or undefined when there is none. */
export function findConnector(type: string): ConnectorDefinition | undefined {
  return BY_TYPE.get(type);
}

/** @throws Error for a type that is none: types are checked where they come in. */
export function getConnector(type: string): ConnectorDefinition {
  const definition = BY_TYPE.get(type);
  if (!definition) throw new Error(`There is no connector type ${type}`);
  return definition;
}

export function isConnectorType(type: string): type is ConnectorType {
  return BY_TYPE.has(type);
}

import { CONNECTOR_TYPES, type ConnectorDefinition, type ConnectorType } from '../definition.ts';
import { amplitude } from './amplitude.ts';
import { bigquery } from './bigquery.ts';
import { datadog } from './datadog.ts';
import { discord } from './discord.ts';
import { dune } from './dune.ts';
import { email } from './email.ts';
import { ga4 } from './ga4.ts';
import { googleSheets } from './google-sheets.ts';
import { hubspot } from './hubspot.ts';
import { linear } from './linear.ts';
import { make } from './make.ts';
import { mixpanel } from './mixpanel.ts';
import { n8n } from './n8n.ts';
import { opsgenie } from './opsgenie.ts';
import { pagerduty } from './pagerduty.ts';
import { quickbooks } from './quickbooks.ts';
import { resend } from './resend.ts';
import { salesforce } from './salesforce.ts';
import { segment } from './segment.ts';
import { slack } from './slack.ts';
import { supabase } from './supabase.ts';
import { teams } from './teams.ts';
import { telegram } from './telegram.ts';
import { twilio } from './twilio.ts';
import { xero } from './xero.ts';
import { zapier } from './zapier.ts';

/** All connector types. To add one, create a file in `types/` and list it here. */
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

/** All definitions, in the order of `CONNECTOR_TYPES`. */
export function listConnectors(): readonly ConnectorDefinition[] {
  return CONNECTOR_TYPES.flatMap((type) => BY_TYPE.get(type) ?? []);
}

/** The definition of a connector type, or undefined for an unknown type. */
export function findConnector(type: string): ConnectorDefinition | undefined {
  return BY_TYPE.get(type);
}

/** @throws Error for an unknown type. Callers have already checked the type. */
export function getConnector(type: string): ConnectorDefinition {
  const definition = BY_TYPE.get(type);
  if (!definition) throw new Error(`Unknown connector type ${type}`);
  return definition;
}

/** The display name of a connector type's service: `BigQuery` for `bigquery`. Any other text is returned unchanged. */
export function connectorTitle(type: string): string {
  return BY_TYPE.get(type)?.title ?? type;
}

export function isConnectorType(type: string): type is ConnectorType {
  return BY_TYPE.has(type);
}

import { generateKeyPairSync } from 'node:crypto';
import type { ConnectorType } from '../../../src/connectors/definition.ts';

type SampleConfig = {
  /** The required config fields. */
  required: Record<string, unknown>;
  /** All other fields, each set to a value other than its default. */
  optional: Record<string, unknown>;
};

/** Text that every secret of every type can contain: 32 lowercase letters and digits. */
export const MARK = 'k3y0abcdefghijklmnopqrstuvwx4321';

/** The n8n host in these tests. n8n is self-hosted, so it has no fixed host. */
export const N8N_HOST = 'n8n.customer.example';

/** A Supabase server hosted by a customer. */
export const SUPABASE_HOST = 'supabase.customer.example';

/** Adds characters that URLs, JSON, HTML, and base64 each escape differently. */
const awkward = (mark: string) => `${mark}+/="\\&<%`;

const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});

const serviceAccountKey = (mark: string) =>
  JSON.stringify({
    type: 'service_account',
    project_id: mark,
    private_key_id: mark,
    private_key: privateKey,
    client_email: `${mark}@shop.iam.gserviceaccount.com`,
  });

const oauthClient = (mark: string) => ({
  clientId: 'client-1',
  clientSecret: awkward(mark),
  refreshToken: `refresh-${awkward(mark)}`,
  grant: `grant-${awkward(mark)}`,
});

/**
 * A config for each type. Every secret contains `mark`. Secrets that allow it also contain characters that need
 * escaping.
 */
const SAMPLE_CONFIGS: Record<ConnectorType, (mark: string) => SampleConfig> = {
  slack: (mark) => ({
    required: { webhookUrl: `https://hooks.slack.com/services/T012AB3CD/B045EF6GH/${mark}` },
    optional: {},
  }),
  discord: (mark) => ({
    required: { webhookUrl: `https://discord.com/api/webhooks/1234567890123456789/${mark}-_${mark}` },
    optional: {
      threadId: '1234567890123456782',
      threadName: 'Payment',
      appliedTags: ['1234567890123456780', '1234567890123456781'],
    },
  }),
  email: (mark) => ({
    required: {
      apiKey: `SG.${mark}.x-_`,
      from: 'Pay <pay@shop.example>',
      to: ['ops@shop.example', '"Doe, Jane" <jane@shop.example>'],
    },
    optional: { region: 'eu' },
  }),
  resend: (mark) => ({
    required: { apiKey: `re_${mark}`, from: 'Pay <pay@shop.example>', to: 'ops@shop.example, jane@shop.example' },
    optional: {},
  }),
  telegram: (mark) => ({
    required: { botToken: `110201543:${mark}-_x`, chatId: '-1001234567890' },
    optional: { messageThreadId: '42' },
  }),
  teams: (mark) => ({
    required: {
      webhookUrl: `https://default0123.45.environment.api.powerplatform.com:443/powerautomate/automations/direct/workflows/0123abcd/triggers/manual/paths/invoke?api-version=1&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=${mark}-_x`,
    },
    optional: { envelope: 'card' },
  }),
  twilio: (mark) => ({
    required: {
      accountSid: `AC${'0a'.repeat(16)}`,
      authToken: awkward(mark),
      from: '+15005550006',
      to: '+15558675310',
    },
    optional: { region: 'ie1', apiKeySid: `SK${'0b'.repeat(16)}`, apiKeySecret: awkward(mark) },
  }),
  segment: (mark) => ({ required: { writeKey: mark }, optional: { region: 'eu' } }),
  mixpanel: (mark) => ({ required: { projectToken: mark }, optional: { region: 'in' } }),
  amplitude: (mark) => ({ required: { apiKey: mark }, optional: { region: 'eu' } }),
  ga4: (mark) => ({ required: { measurementId: 'G-1A2B3C4D5E', apiSecret: mark }, optional: { region: 'eu' } }),
  zapier: (mark) => ({
    required: { webhookUrl: `https://hooks.zapier.com/hooks/catch/1234567/${mark}/` },
    optional: {},
  }),
  n8n: (mark) => ({
    required: { webhookUrl: `https://${N8N_HOST}/webhook/${mark}` },
    optional: {
      authHeaderName: 'X-Api-Key',
      authHeaderValue: `Bearer ${awkward(mark)}h`,
      signingSecret: `${awkward(mark)}ß`,
    },
  }),
  make: (mark) => ({ required: { webhookUrl: `https://hook.eu2.make.com/${mark}` }, optional: {} }),
  pagerduty: (mark) => ({
    required: { routingKey: mark },
    optional: { region: 'eu', upstreamFailureCount: '1', upstreamFailureMinutes: '60' },
  }),
  datadog: (mark) => ({ required: { apiKey: mark }, optional: { site: 'datadoghq.eu' } }),
  opsgenie: (mark) => ({
    required: { apiKey: mark },
    optional: { region: 'jsm', upstreamFailureCount: '1', upstreamFailureMinutes: '60' },
  }),
  bigquery: (mark) => ({
    required: {
      projectId: 'my-project-123',
      datasetId: 'payments',
      tableId: 'events',
      accessToken: `ya29.${awkward(mark)}`,
    },
    optional: { serviceAccountKey: serviceAccountKey(mark), grant: `grant-${awkward(mark)}` },
  }),
  supabase: (mark) => ({
    required: { url: 'https://abcdefghijklmnopqrst.supabase.co', apiKey: `sb_secret_${awkward(mark)}` },
    optional: { table: 'sales' },
  }),
  'google-sheets': (mark) => ({
    required: { spreadsheetId: '1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms', accessToken: `ya29.${awkward(mark)}` },
    optional: {
      sheetName: "Bob's sales/2026",
      serviceAccountKey: serviceAccountKey(mark),
      grant: `grant-${awkward(mark)}`,
    },
  }),
  dune: (mark) => ({
    required: { apiKey: awkward(mark) },
    optional: { namespace: 'my_team', table: 'sales', visibility: 'public' },
  }),
  hubspot: (mark) => ({ required: { accessToken: `pat-eu1-${awkward(mark)}` }, optional: {} }),
  salesforce: (mark) => ({
    required: { instanceUrl: 'https://acme.my.salesforce.com', accessToken: `00D${awkward(mark)}` },
    optional: oauthClient(mark),
  }),
  linear: (mark) => ({
    required: { apiKey: `lin_api_${awkward(mark)}`, teamId: '9cfb482a-81e3-4154-b5b9-2c805e70a02d' },
    optional: { upstreamFailureCount: '1', upstreamFailureMinutes: '60' },
  }),
  quickbooks: (mark) => ({
    required: { accessToken: awkward(mark), realmId: '9130355377388383' },
    optional: {
      environment: 'sandbox',
      itemId: '21',
      depositAccountId: '35',
      taxCodeId: '4',
      ...oauthClient(mark),
    },
  }),
  xero: (mark) => ({
    required: { accessToken: awkward(mark), tenantId: '70784a63-d24b-46a9-a4db-0e70a274b056' },
    optional: { bankAccountCode: '090', revenueAccountCode: '200', ...oauthClient(mark) },
  }),
};

/**
 * Returns a type's config with only its required fields, with all fields, or with all that a seller can enter. The grant
 * of a connected account can't be entered.
 */
export function sampleConfig(type: ConnectorType, fields: 'required' | 'entered' | 'all' = 'required', mark = MARK) {
  const { required, optional } = SAMPLE_CONFIGS[type](mark);
  if (fields === 'required') return required;
  const { grant, ...entered } = { ...required, ...optional };
  return fields === 'all' && grant !== undefined ? { ...entered, grant } : entered;
}

/** A different value for each field that determines where a connector sends events. */
export const OTHER_ADDRESSES: Readonly<Partial<Record<ConnectorType, Record<string, string>>>> = {
  slack: { webhookUrl: 'https://hooks.slack.com/services/T999/B999/0therabcdefghijklmnopqrs' },
  discord: { webhookUrl: 'https://canary.discord.com/api/webhooks/999/0therabcdefghijklmnopqrs' },
  email: { region: 'eu' },
  teams: {
    webhookUrl:
      'https://other.environment.api.powerplatform.com/workflows/9/triggers/manual/paths/invoke?api-version=1&sig=0ther',
  },
  twilio: { region: 'ie1' },
  segment: { region: 'eu' },
  mixpanel: { region: 'in' },
  amplitude: { region: 'eu' },
  ga4: { region: 'eu' },
  zapier: { webhookUrl: 'https://hooks.zapier.com/hooks/catch/999/0therabc/' },
  n8n: { webhookUrl: 'https://elsewhere.example/webhook/0therabc' },
  make: { webhookUrl: 'https://hook.us1.make.com/0therabcdefghijklmnopqrs' },
  pagerduty: { region: 'eu' },
  datadog: { site: 'datadoghq.eu' },
  opsgenie: { region: 'jsm' },
  supabase: { url: 'https://elsewhereabcdefghijk.supabase.co' },
  salesforce: { instanceUrl: 'https://elsewhere.my.salesforce.com' },
  quickbooks: { environment: 'sandbox' },
};

import { readdir, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CONNECTOR_TYPES, type ConnectorCategory, type ConnectorType } from '../../src/connectors/definition.ts';
import { describeFields, redactConfig, secretsOf } from '../../src/connectors/describe.ts';
import { getConnector, listConnectors } from '../../src/connectors/types/registry.ts';
import type { AppError, FieldError } from '../../src/errors.ts';
import { parseInput } from '../../src/validation.ts';
import { MARK, sampleConfig } from '../connectors/support/configs.ts';

const DOCS = resolve(import.meta.dirname, '../../docs/connectors');

/** The documented table of connector types. */
const DOCUMENTED = `
| slack | Communication | webhookUrl |
| discord | Communication | webhookUrl |
| email | Communication | apiKey, from, to (array) |
| resend | Communication | apiKey, from, to (array or comma-separated string) |
| telegram | Communication | botToken, chatId |
| teams | Communication | webhookUrl |
| twilio | Communication | accountSid, authToken, from, to |
| segment | Analytics | writeKey |
| mixpanel | Analytics | projectToken |
| amplitude | Analytics | apiKey |
| ga4 | Analytics | measurementId, apiSecret |
| zapier | Automation | webhookUrl |
| n8n | Automation | webhookUrl |
| make | Automation | webhookUrl |
| pagerduty | Monitoring | routingKey |
| datadog | Monitoring | apiKey, site (optional) |
| opsgenie | Monitoring | apiKey |
| bigquery | Data | projectId, datasetId, tableId, accessToken |
| supabase | Data | url, apiKey, table (optional) |
| google-sheets | Data | spreadsheetId, accessToken, sheetName (optional) |
| dune | Data | apiKey, namespace (optional), table (optional) |
| hubspot | CRM | accessToken |
| salesforce | CRM | instanceUrl, accessToken |
| linear | Project Management | apiKey, teamId |
| quickbooks | Accounting | accessToken, realmId |
| xero | Accounting | accessToken, tenantId |
`;

/** Optional fields that aren't in the documented table. */
const EXTRA_FIELDS: Partial<Record<ConnectorType, string[]>> = {
  discord: ['threadId', 'threadName', 'appliedTags'],
  email: ['region'],
  telegram: ['messageThreadId'],
  teams: ['envelope'],
  twilio: ['region', 'apiKeySid', 'apiKeySecret'],
  segment: ['region'],
  mixpanel: ['region'],
  amplitude: ['region'],
  ga4: ['region'],
  n8n: ['authHeaderName', 'authHeaderValue', 'signingSecret'],
  pagerduty: ['region', 'upstreamFailureCount', 'upstreamFailureMinutes'],
  opsgenie: ['region', 'upstreamFailureCount', 'upstreamFailureMinutes'],
  linear: ['upstreamFailureCount', 'upstreamFailureMinutes'],
  dune: ['visibility'],
  bigquery: ['serviceAccountKey', 'grant'],
  'google-sheets': ['serviceAccountKey', 'grant'],
  salesforce: ['clientId', 'clientSecret', 'refreshToken', 'grant'],
  quickbooks: [
    ...['environment', 'itemId', 'depositAccountId', 'taxCodeId'],
    ...['clientId', 'clientSecret', 'refreshToken', 'grant'],
  ],
  xero: ['bankAccountCode', 'revenueAccountCode', 'clientId', 'clientSecret', 'refreshToken', 'grant'],
};

/** The credentials that are required only if the config has no other one. */
const ALTERNATIVES: ReadonlySet<string> = new Set([
  ...['bigquery', 'google-sheets', 'salesforce', 'quickbooks', 'xero'].map((type) => `${type}.accessToken`),
  'twilio.authToken',
]);

const SECRET_FIELDS: Record<ConnectorType, string[]> = {
  slack: ['webhookUrl'],
  discord: ['webhookUrl'],
  email: ['apiKey'],
  resend: ['apiKey'],
  telegram: ['botToken'],
  teams: ['webhookUrl'],
  twilio: ['authToken', 'apiKeySecret'],
  segment: ['writeKey'],
  mixpanel: ['projectToken'],
  amplitude: ['apiKey'],
  ga4: ['apiSecret'],
  zapier: ['webhookUrl'],
  n8n: ['webhookUrl', 'authHeaderValue', 'signingSecret'],
  make: ['webhookUrl'],
  pagerduty: ['routingKey'],
  datadog: ['apiKey'],
  opsgenie: ['apiKey'],
  bigquery: ['accessToken', 'serviceAccountKey', 'grant'],
  supabase: ['apiKey'],
  'google-sheets': ['accessToken', 'serviceAccountKey', 'grant'],
  dune: ['apiKey'],
  hubspot: ['accessToken'],
  salesforce: ['accessToken', 'clientSecret', 'refreshToken', 'grant'],
  linear: ['apiKey'],
  quickbooks: ['accessToken', 'clientSecret', 'refreshToken', 'grant'],
  xero: ['accessToken', 'clientSecret', 'refreshToken', 'grant'],
};

/** Strings that every field of every type must reject. */
const BAD_TEXTS: Record<string, (good: string) => string> = {
  empty: () => '',
  blank: () => '   ',
  'of 10 kB': (good) => good + 'a'.repeat(10_000),
  'with NUL inside': (good) => `${good.slice(0, -1)}\0${good.at(-1)}`,
  'with NUL at its end': (good) => `${good}\0`,
  'with a line break at its end': (good) => `${good}\n`,
  'with a line break at its start': (good) => `\r\n${good}`,
  'with a header in it': (good) => `${good}\r\nX-Injected: 1`,
  'with an escape character': (good) => `${good}\u001b[31m`,
  'with DEL': (good) => `${good}\u007f`,
  'with a C1 control character': (good) => `${good}\u0085`,
  'with half a surrogate pair': (good) => `${good}\ud83d`,
};

/** Fields for IDs that programs often send as numbers. */
const ACCEPTS_NUMBERS: ReadonlySet<string> = new Set(['telegram.chatId', 'telegram.messageThreadId']);

const NOT_TEXTS: readonly unknown[] = [null, 42, true, {}, { toString: 'x' }, ['x', 1], [[]], []];

type Row = { type: ConnectorType; category: string; fields: { name: string; required: boolean }[] };

function documentedRows(): Row[] {
  const rows = [...DOCUMENTED.matchAll(/^\| (\S+) \| ([\w ]+) \| (.+) \|$/gm)];
  return rows.map(([, type, category, fields]) => ({
    type: type as ConnectorType,
    category: category!,
    fields: fields!
      .split(/, (?![^(]*\))/)
      .map((field) => ({ name: field.split(' ')[0]!, required: !field.endsWith('(optional)') })),
  }));
}

/** Returns the errors for a config, or an empty list if it is accepted. */
function rejectedFields(type: ConnectorType, config: unknown): FieldError[] {
  try {
    parseInput<unknown>(getConnector(type).config, config, '/config');
    return [];
  } catch (error) {
    return (error as AppError).fields;
  }
}

/** Returns the pointers of a config's errors. */
function errorsOf(type: ConnectorType, config: unknown): string[] {
  return rejectedFields(type, config).map(({ pointer }) => pointer);
}

test('the registry has exactly the documented types, categories, and fields', () => {
  const rows = documentedRows();
  expect(rows.map(({ type }) => type)).toEqual(CONNECTOR_TYPES);
  for (const { type, category, fields } of rows) {
    const definition = getConnector(type);
    expect(definition.category).toBe(category as ConnectorCategory);
    const described = describeFields(definition).map(({ name, required }) => ({ name, required }));
    const extra = (EXTRA_FIELDS[type] ?? []).map((name) => ({ name, required: false }));
    const isRequired = ({ name, required }: (typeof fields)[number]) =>
      required && !ALTERNATIVES.has(`${type}.${name}`);
    const documented = fields.map((field) => ({ name: field.name, required: isRequired(field) }));
    expect(described, type).toEqual([...documented, ...extra]);
  }
});

describe.each(listConnectors().map((definition) => [definition.type, definition] as const))(
  '%s',
  (type, definition) => {
    const fields = describeFields(definition);
    const full = sampleConfig(type, 'all') as Record<string, unknown>;

    test('accepts a config with only the required fields and one with all fields', () => {
      for (const which of ['required', 'all'] as const) {
        const config = sampleConfig(type, which);
        expect(definition.config.parse(config)).toEqual(config);
      }
      expect(Object.keys(full).toSorted()).toEqual(fields.map(({ name }) => name).toSorted());
    });

    test("rejects unknown fields, and anything that isn't an object", () => {
      for (const config of [null, undefined, 'text', 7, []]) expect(errorsOf(type, config)).not.toEqual([]);
      for (const name of ['colour', 'webhookurl', 'APIKEY', 'constructor', '']) {
        expect(errorsOf(type, { ...full, [name]: 'x' })).toEqual([`/config/${name}`]);
      }
      const withProto = JSON.parse(`{"__proto__": {"x": 1}}`);
      expect(errorsOf(type, Object.assign(Object.create(null), full, { toString: 1 }))).toEqual(['/config/toString']);
      expect(errorsOf(type, withProto)).not.toEqual([]);
    });

    test.each(fields.filter(({ required }) => required).map(({ name }) => name))(
      'rejects a config without %s',
      (name) => {
        const { [name]: _, ...rest } = full;
        expect(errorsOf(type, rest)).toEqual([`/config/${name}`]);
        expect(errorsOf(type, {})).toContain(`/config/${name}`);
      },
    );

    test.each(fields.map(({ name }) => name))("rejects values of %s that aren't a single line of text", (name) => {
      const good = full[name];
      for (const value of NOT_TEXTS.filter((each) => !(ACCEPTS_NUMBERS.has(`${type}.${name}`) && each === 42))) {
        const pointers = errorsOf(type, { ...full, [name]: value });
        expect(pointers.length, `${name}: ${JSON.stringify(value)}`).toBeGreaterThan(0);
        for (const pointer of pointers) expect(pointer).toMatch(new RegExp(`^/config/${name}(/\\d+)?$`));
      }
      for (const [what, spoil] of Object.entries(BAD_TEXTS)) {
        // A key file may have line breaks.
        if (name === 'serviceAccountKey' && what.startsWith('with a line break')) continue;
        const bad = Array.isArray(good) ? [spoil(String(good[0]))] : spoil(String(good));
        const pointers = errorsOf(type, { ...full, [name]: bad });
        expect(pointers.length, `${name} ${what}: ${JSON.stringify(bad).slice(0, 200)}`).toBeGreaterThan(0);
      }
    });

    test('never repeats a value in its error message', () => {
      for (const { name } of fields) {
        const refused = rejectedFields(type, { ...full, [name]: `${MARK}\u0000wrong` });
        expect(refused).not.toEqual([]);
        expect(JSON.stringify(refused)).not.toContain(MARK);
      }
    });

    test('describes every field for forms and marks the secret ones', () => {
      for (const field of fields) {
        expect(field.title, field.name).toMatch(/^[A-Z].{1,40}$/);
        expect(field.description, field.name).toMatch(/^.{10,200}[.…]$/);
        expect(['text', 'list', 'choice']).toContain(field.kind);
        expect(field.choices.length > 0).toBe(field.kind === 'choice');
        if (field.kind === 'choice')
          for (const choice of field.choices) expect(errorsOf(type, { ...full, [field.name]: choice })).toEqual([]);
      }
      expect(fields.filter(({ secret }) => secret).map(({ name }) => name)).toEqual(SECRET_FIELDS[type]);
      expect(definition.title).toMatch(/\S/);
      expect(definition.description).toMatch(/\.$/);
      expect(new URL(definition.documentationUrl).protocol).toBe('https:');
    });

    test('accepts its own examples', () => {
      for (const { name, example, kind } of fields) {
        if (example === null || example.includes('…')) continue;
        expect(errorsOf(type, { ...full, [name]: kind === 'list' ? [example] : example }), name).toEqual([]);
      }
    });

    test('never shows a secret again', () => {
      const shown = JSON.stringify(redactConfig(definition, full));
      expect(shown).not.toContain(MARK);
      const secrets = secretsOf(definition, full);
      expect(secrets).toHaveLength(SECRET_FIELDS[type].length);
      for (const secret of secrets) expect(secret).toContain(MARK);
      for (const name of SECRET_FIELDS[type]) expect(JSON.parse(shown)[name]).toMatch(/^••••.{0,4}$/u);
    });

    test('has a documentation page that names every field', async () => {
      const page = await readFile(resolve(DOCS, `${type}.md`), 'utf8');
      expect(page).toMatch(/^# \S/);
      for (const { name } of fields) expect(page).toContain(`\`${name}\``);
      expect(page).not.toMatch(/\/(work|root|home|tmp)\//);
    });
  },
);

test('the documentation has no page for an unknown connector type', async () => {
  const pages = (await readdir(DOCS)).filter((name) => name !== 'README.md').map((name) => name.replace(/\.md$/, ''));
  expect(pages.toSorted()).toEqual(CONNECTOR_TYPES.toSorted());
});

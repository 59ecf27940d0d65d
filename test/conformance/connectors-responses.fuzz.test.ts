import { describe, expect, test } from 'vitest';
import type { ConnectorDefinition, ConnectorType, Outcome } from '../../src/connectors/definition.ts';
import { secretsOf } from '../../src/connectors/describe.ts';
import { listConnectors } from '../../src/connectors/types/registry.ts';
import { EVENT_TYPES } from '../../src/events/types.ts';
import { MARK, sampleConfig } from '../connectors/support/configs.ts';
import { classifyContext, EVENT_TIME, sampleEvent, vendorResponse } from '../connectors/support/samples.ts';
import { VENDORS } from '../connectors/support/vendors/vendors.ts';
import { echoes } from './connector-echoes.ts';
import { checkRequest } from './connector-requests.ts';

/** The calls that a delivery can make, starting with the call that delivers the event. */
const STEPS: Partial<Record<ConnectorType, readonly string[]>> = {
  telegram: ['send', 'moved'],
  twilio: ['send', 'lookup', 'lookup after error'],
  pagerduty: ['send', 'test-trigger', 'test-resolve'],
  opsgenie: ['send:eu', 'test-close:eu'],
  // The last call only formats rows that are already stored, so none of its failures count.
  'google-sheets': ['append', 'tab', 'heading:0:Tabelle1', 'read-back', 'append-missing'],
  dune: ['insert', 'insert-created', 'create', 'namespace'],
  hubspot: ['upsert', 'create-properties', 'upsert-again', 'upsert-last'],
  quickbooks: ['send', 'check', 'preferences', 'item', 'rate:GBP'],
  xero: ['bank-send', 'bank-check', 'bank-account', 'send', 'check', 'read-back'],
};

/** What a status means by default. */
const DEFAULTS: Record<number, Outcome['kind']> = {
  301: 'drop',
  302: 'drop',
  303: 'drop',
  304: 'drop',
  307: 'drop',
  308: 'drop',
  400: 'drop',
  401: 'pause',
  403: 'pause',
  404: 'disable',
  405: 'drop',
  408: 'retry',
  410: 'disable',
  413: 'drop',
  415: 'drop',
  422: 'drop',
  429: 'retry',
  451: 'drop',
  500: 'retry',
  502: 'retry',
  503: 'retry',
  504: 'retry',
};

const PAGE = '<!doctype html><title>Error</title>';
const BODIES = { page: PAGE, json: '{}', nothing: '' } as const;
type BodyKind = keyof typeof BODIES;

/** A status that a vendor uses differently, in every step or only in `step`, with any body or only with `body`. */
type Exception = { status: number; kind: Outcome['kind']; step?: string; body?: BodyKind };
const MISSING_IS_HELD: readonly Exception[] = [
  { status: 404, kind: 'pause' },
  { status: 410, kind: 'pause' },
];
const EXCEPTIONS: Partial<Record<ConnectorType, readonly Exception[]>> = {
  discord: [
    // Responses without JSON come from the firewall: a 429 is about this service's address, a 403 possibly about the content.
    { status: 403, kind: 'retry', body: 'page' },
    { status: 403, kind: 'retry', body: 'nothing' },
    { status: 429, kind: 'blocked', body: 'page' },
    { status: 429, kind: 'blocked', body: 'nothing' },
  ],
  // These APIs have a fixed address, so a 404 doesn't mean that something was deleted. Telegram returns it for an unknown
  // token.
  email: MISSING_IS_HELD,
  resend: MISSING_IS_HELD,
  telegram: MISSING_IS_HELD,
  // The SMS may have been sent, so it is looked up before another one is paid for.
  twilio: [
    ...MISSING_IS_HELD,
    { status: 500, kind: 'next', step: 'send' },
    { status: 502, kind: 'next', step: 'send' },
    { status: 504, kind: 'next', step: 'send' },
  ],
  segment: [{ status: 410, kind: 'retry' }],
  // The 403 is from the firewall. A wrong key causes a 400.
  amplitude: [{ status: 403, kind: 'drop' }],
  // Google deduplicates only purchases, so other events aren't sent twice.
  ga4: [
    { status: 500, kind: 'drop' },
    { status: 502, kind: 'drop' },
    { status: 504, kind: 'drop' },
  ],
  // The workflow is turned off, which can be temporary.
  n8n: [{ status: 404, kind: 'retry' }],
  make: [{ status: 410, kind: 'retry' }],
  // The seller can create the missing object, so deliveries are held until then.
  bigquery: MISSING_IS_HELD,
  supabase: MISSING_IS_HELD,
  salesforce: MISSING_IS_HELD,
  'google-sheets': [
    ...MISSING_IS_HELD,
    // A sheet that is too narrow for the heading can still receive rows.
    { status: 400, kind: 'next', step: 'heading:0:Tabelle1' },
  ],
  // The reason may be that the wallet property doesn't require unique values, so the connector checks it next.
  hubspot: [
    { status: 400, kind: 'next', step: 'upsert' },
    { status: 400, kind: 'next', step: 'upsert-again' },
  ],
  dune: [
    { status: 404, kind: 'next', step: 'insert' },
    { status: 404, kind: 'retry', step: 'insert-created' },
  ],
};

/** Steps in which no failure is final, because deliveries are held. */
const HOLDING_STEPS: Partial<Record<ConnectorType, readonly string[]>> = {
  // Nothing can be booked without the home currency and its rate.
  quickbooks: ['preferences', 'rate:GBP'],
};

/** Types with responses that carry no information, so every 2xx counts as success. */
const EVERY_2XX: ReadonlySet<string> = new Set(['teams', 'zapier', 'n8n', 'make', 'ga4']);
/** Statuses that mean success without a body. */
const EMPTY_SUCCESS: Partial<Record<ConnectorType, number>> = { email: 202, discord: 204, salesforce: 204 };

/** The least time to wait after a vendor has blocked this service's address. */
const MIN_BLOCKED_SECONDS = 300;

const now = new Date(Date.parse(EVENT_TIME) + 2000);

function contextOf(definition: ConnectorDefinition, step: string) {
  const kinds = EVENT_TYPES.filter((eventType) => definition.supportsEvent(eventType, new Set(EVENT_TYPES)));
  const kind = kinds.find((each) => each === 'payment.failed') ?? kinds[0]!;
  const memory = { namespace: 'my_team' };
  return classifyContext<Record<string, unknown>>(sampleConfig(definition.type, 'all'), sampleEvent(kind), {
    step,
    memory,
    now,
  });
}

describe.each(listConnectors().map((definition) => [definition.type, definition] as const))(
  '%s',
  (type, definition) => {
    const steps = STEPS[type] ?? ['send'];
    const { hosts } = VENDORS[type]();

    function expectedOf(status: number, step: string, body: BodyKind): Outcome['kind'] {
      const exception = EXCEPTIONS[type]?.find(
        (each) => each.status === status && (each.step ?? step) === step && (each.body ?? body) === body,
      );
      const kind = exception?.kind ?? DEFAULTS[status]!;
      const isHeld = (kind === 'drop' || kind === 'disable') && HOLDING_STEPS[type]?.includes(step);
      return isHeld ? 'pause' : kind;
    }

    test.each(steps)('classifies every status in the step %s, and counts no redirect or failure as success', (step) => {
      const context = contextOf(definition, step);
      const table = (of: (status: number, body: BodyKind) => string) =>
        Object.fromEntries(
          Object.keys(BODIES).flatMap((body) =>
            Object.keys(DEFAULTS).map((status) => [`${status} ${body}`, of(Number(status), body as BodyKind)]),
          ),
        );
      expect(table((status, body) => definition.classify(vendorResponse(status, BODIES[body]), context).kind)).toEqual(
        table((status, body) => expectedOf(status, step, body)),
      );
    });

    test.each(steps)('waits in the step %s as long as Retry-After says, in seconds or as a date', (step) => {
      const context = contextOf(definition, step);
      const inSeconds = (seconds: number) => new Date(now.getTime() + seconds * 1000).toUTCString();
      for (const status of [429, 503]) {
        for (const [retryAfter, seconds] of [
          ['170', 170],
          [inSeconds(171), 170],
          ['3600', 3600],
        ] as const) {
          const outcome = definition.classify(vendorResponse(status, PAGE, { 'retry-after': retryAfter }), context);
          const isBlocked = expectedOf(status, step, 'page') === 'blocked';
          expect(outcome.kind).toBe(isBlocked ? 'blocked' : 'retry');
          expect('afterSeconds' in outcome && outcome.afterSeconds).toBeGreaterThanOrEqual(seconds);
          const most = isBlocked ? Math.max(seconds + 1, MIN_BLOCKED_SECONDS) : seconds + 1;
          expect('afterSeconds' in outcome && outcome.afterSeconds).toBeLessThanOrEqual(most);
        }
        for (const nonsense of [
          'soon',
          '-5',
          '',
          'NaN',
          '9'.repeat(400),
          inSeconds(-1e6),
          'Fri, 99 Foo 2026 99:99:99 GMT',
        ]) {
          const outcome = definition.classify(vendorResponse(status, PAGE, { 'retry-after': nonsense }), context);
          expect(outcome.kind).toBe(expectedOf(status, step, 'page'));
          const wait = 'afterSeconds' in outcome ? (outcome.afterSeconds ?? 0) : 0;
          expect(wait >= 0 && wait <= 86_400 && Number.isInteger(wait)).toBe(true);
        }
      }
    });

    test("doesn't mistake an intermediary's page for the vendor's response", () => {
      const context = contextOf(definition, steps[0]!);
      const believed = [200, 201, 202, 203, 204, 206, 207, 226].filter(
        (status) => definition.classify(vendorResponse(status, PAGE), context).kind === 'delivered',
      );
      if (EVERY_2XX.has(type)) expect(believed).toHaveLength(8);
      else expect(believed).toEqual(EMPTY_SUCCESS[type] ? [EMPTY_SUCCESS[type]] : []);
    });

    test.each(steps)(
      'gives short, readable reasons in the step %s without the credentials that the vendor repeats',
      (step) => {
        const context = contextOf(definition, step);
        const secrets = secretsOf(definition, context.config);
        expect(secrets.length).toBeGreaterThan(0);
        const bodies = echoes(secrets);
        for (const status of [200, 201, 202, 207, 300, 400, 401, 402, 403, 404, 409, 422, 429, 500, 540]) {
          for (const body of bodies) {
            const outcome = definition.classify(vendorResponse(status, body, { 'x-echo': secrets.join() }), context);
            expectPresentable(outcome, secrets);
            if (outcome.kind === 'next') {
              const rules = { hosts, mark: MARK, maxBodyBytes: 1_000_000, secretInUrl: type === 'telegram' };
              checkRequest(outcome.request, rules);
            }
          }
        }
      },
    );

    if (definition.probe)
      test('reports every failed probe without revealing the credentials', () => {
        const { probe } = definition;
        const config = sampleConfig(type, 'all');
        const secrets = secretsOf(definition, config);
        const step = probe!.build(config).step ?? 'send';
        const bodies = [PAGE, '{}', '', ...echoes(secrets)];
        for (const status of [301, 302, 400, 401, 402, 403, 404, 408, 410, 422, 429, 500, 502, 503, 504]) {
          for (const body of bodies) {
            const outcome = probe!.classify(vendorResponse(status, body), config, step);
            if ('next' in outcome) continue;
            // Missing contact properties are created with the first event.
            if (!(type === 'hubspot' && status === 404)) expect(outcome.ok, `${status} ${body}`).toBe(false);
            expectPresentable({ kind: 'drop', reason: outcome.message }, secrets);
          }
        }
      });

    if (definition.probe && type !== 'opsgenie')
      test("doesn't mistake an intermediary's page for good credentials", () => {
        const config = sampleConfig(type);
        const { probe } = definition;
        expect(probe!.classify(vendorResponse(200, PAGE), config, probe!.build(config).step ?? 'send')).toMatchObject({
          ok: PAGE_IS_BELIEVED_BY_PROBE.has(type),
        });
      });
  },
);

/** For these types, only the status shows whether a key is good. */
const PAGE_IS_BELIEVED_BY_PROBE: ReadonlySet<string> = new Set(['mixpanel']);

/** Tens of thousands of strings are checked, so there is one `expect` per outcome instead of one per rule. */
function expectPresentable(outcome: Outcome, secrets: readonly string[]): void {
  const texts = [
    'reason' in outcome ? outcome.reason : '',
    'note' in outcome ? (outcome.note ?? '') : '',
    JSON.stringify('remember' in outcome ? (outcome.remember ?? '') : ''),
  ];
  const hidden = [MARK, ...secrets.map((secret) => Buffer.from(secret).toString('base64').slice(0, 24))];
  const flaws = texts.flatMap((text) => [
    ...(text.length > 200 ? [`longer than 200 characters: ${text}`] : []),
    ...(/[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E]/u.test(text) ? [`control characters: ${text}`] : []),
    ...(text.isWellFormed() ? [] : [`half a character: ${text}`]),
    ...hidden.filter((secret) => text.includes(secret)).map((secret) => `the credential ${secret}: ${text}`),
  ]);
  if ('reason' in outcome && !/^[\p{Lu}n"]/u.test(outcome.reason)) flaws.push(`no capital letter: ${outcome.reason}`);
  expect(flaws).toEqual([]);
}

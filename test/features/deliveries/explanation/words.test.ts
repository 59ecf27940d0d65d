import { describe, expect, test } from 'vitest';
import type { ConnectorType } from '../../../../src/connectors/definition.ts';
import { getConnector } from '../../../../src/connectors/types/registry.ts';
import { type DeliveryFacts, explainInWords } from '../../../../src/features/deliveries/explanation/words.ts';
import type { Attempt, Delivery } from '../../../../src/generated/prisma/client.ts';

const now = new Date('2026-11-22T12:00:00Z');
const destination = {
  id: 'wh_1',
  title: 'webhook',
  isActive: true,
  disabledReason: null,
  disabledAt: null,
  pausedReason: null,
  pausedAt: null,
  nextProbeAt: null,
  failingSince: null,
  isSlowedDown: false,
};

/** The facts about a delivery that is due. */
function dueDelivery(values: Partial<Delivery>): DeliveryFacts {
  const delivery = { status: 'PENDING', trigger: 'SCHEDULED', reason: null, attemptCount: 0, isParked: false };
  return {
    delivery: { ...delivery, nextAttemptAt: new Date(now.getTime() - 60_000), ...values } as Delivery,
    destination,
    lastAttempt: null,
    now,
    retryScheduleSeconds: [5],
  };
}

describe('a delivery to a paused webhook', () => {
  test('is held until its authentication is saved, if the service paused it', () => {
    const facts = dueDelivery({ nextAttemptAt: null, reason: 'paused' });
    const pausedReason = 'The token URL refused to issue an access token (invalid_client).';
    const words = explainInWords({ ...facts, destination: { ...destination, pausedAt: now, pausedReason } });
    expect(words).toEqual({
      summary: `The delivery is held because its webhook is paused: ${pausedReason}`,
      next: "It will be sent as soon as you save the webhook's `authentication`, or set `isPaused` to false.",
      advice: "Fix the cause, then save the webhook's `authentication`.",
    });
  });
});

describe('a failed delivery', () => {
  const failed = dueDelivery({ status: 'FAILED', reason: 'exhausted', nextAttemptAt: null });

  test('is explained as having failed every scheduled retry', () => {
    expect(explainInWords(failed).summary).toBe('Every scheduled retry failed, so the delivery was marked as failed.');
  });

  test('is explained as having no retries if its webhook has none', () => {
    const words = explainInWords({ ...failed, retryScheduleSeconds: [] });
    expect(words.summary).toBe(
      'The attempt failed, and the webhook has no retries, so the delivery was marked as failed.',
    );
    expect(words.advice).toContain('`retrySchedule`');
  });
});

describe('a due delivery', () => {
  test('waits for a worker', () => {
    expect(explainInWords(dueDelivery({})).next).toBe('It is due and will be sent as soon as a worker is free.');
  });

  test.each([
    ['its first attempt', { attemptCount: 0 }, 'It is due and will be sent as soon as capacity is available'],
    [
      'a resend',
      { attemptCount: 3, trigger: 'MANUAL' as const },
      'It is due and will be sent as soon as capacity is available',
    ],
  ])('says that it has to wait for room: %s', (_name, values, next) => {
    expect(explainInWords(dueDelivery({ ...values, isParked: true })).next).toContain(next);
  });
});

type AttemptFacts = Pick<Attempt, 'statusCode' | 'errorClass' | 'errorMessage'>;

/** The facts about a connector's delivery after its last attempt failed. */
function failedAttempt(type: ConnectorType, attempt: AttemptFacts, values: Partial<Delivery> = {}): DeliveryFacts {
  const { title, advice } = getConnector(type);
  return {
    ...dueDelivery({ attemptCount: 1, ...values }),
    destination: { ...destination, id: 'con_1', title, advice },
    lastAttempt: { number: 1, durationMs: 20, ...attempt } as Attempt,
  };
}

/** Advice that only makes sense for the seller's own server. */
const FOR_WEBHOOKS = /webhook-id|secret it uses to verify|its logs|final URL|2xx|Respond first|Compare `curl`|firewall/;
const http = (statusCode: number, errorMessage: string | null = null): AttemptFacts => {
  return { statusCode, errorClass: 'http_status', errorMessage };
};
const network = (errorClass: string, errorMessage: string | null = null): AttemptFacts => {
  return { statusCode: null, errorClass, errorMessage };
};

describe('the advice about a failed attempt', () => {
  test.each<[ConnectorType, AttemptFacts, RegExp]>([
    ['slack', http(400), /^See `responseBody` for the response from Slack\.$/],
    ['slack', http(401), /^Save a valid credential for Slack in the connector's config\.$/],
    ['slack', http(403), /^Check the credential’s permissions in Slack\.$/],
    ['hubspot', http(404), /still exists in HubSpot/],
    ['linear', http(410), /still exists in Linear/],
    ['discord', http(429), /^Discord is rate-limiting requests\. .*`maxPerSecond`/],
    ['datadog', http(503), /whether Datadog has an outage/],
    ['supabase', http(301), /`responseBody`/],
    [
      'bigquery',
      { statusCode: 200, errorClass: 'rejected', errorMessage: null },
      /`responseBody` for the response from BigQuery/,
    ],
    ['slack', network('timeout'), /whether Slack has an outage/],
    ['slack', network('dns_error'), /whether Slack has an outage/],
    ['slack', network('interrupted'), /^Slack may get the event twice/],
    ['xero', network('no_access_token'), /credential that is used to get access tokens/],
    ['slack', network('internal'), /You do not need to do anything/],
    ['n8n', network('proxy_error'), /You do not need to do anything/],
    ['n8n', network('target_not_allowed'), /public internet/],
    ['n8n', http(404), /Webhook node accepts POST/],
    ['n8n', http(500), /^Fix the workflow in n8n\.$/],
    ['n8n', network('timeout'), /respond immediately/],
    ['n8n', network('connection_refused'), /Check that n8n is running/],
    ['make', http(410), /URL of another one/],
    ['make', http(500), /^Fix the scenario in Make\.$/],
    ['make', network('timeout'), /respond sooner/],
  ])('fits %s and %j', (type, attempt, advice) => {
    const words = explainInWords(failedAttempt(type, attempt));
    expect(words.advice).toMatch(advice);
    expect(`${words.advice} ${words.summary}`).not.toMatch(FOR_WEBHOOKS);
  });

  test('is about the server if the destination is a webhook', () => {
    const facts = { ...failedAttempt('slack', http(401)), destination };
    expect(explainInWords(facts).advice).toContain('Check the secret it uses to verify requests');
  });
});

describe("a connector's reason", () => {
  const reason = 'Slack rejected the message.';

  test.each([
    ['a rejected delivery', { status: 'FAILED', reason, nextAttemptAt: null }, `The delivery failed: ${reason}`],
    ['a delivery that will be retried', {}, `The last attempt failed: ${reason}`],
  ] as const)('appears once in the explanation of %s', (_what, values, summary) => {
    expect(explainInWords(failedAttempt('slack', http(400, reason), values)).summary).toBe(summary);
  });

  test('is followed by the last attempt if that failed for a different reason', () => {
    const facts = failedAttempt('slack', http(500), { status: 'FAILED', reason: 'exhausted', nextAttemptAt: null });
    expect(explainInWords(facts).summary).toBe(
      'Every scheduled retry failed, so the delivery was marked as failed. Last attempt: Slack returned 500.',
    );
  });

  test.each([
    'In QuickBooks, create a service item named "x402 API revenue".',
    'QuickBooks rejected the access token. Tokens expire after an hour: save a new one.',
  ])('is the only text that says what is wrong during a pause: %s', (pausedReason) => {
    const facts = failedAttempt('quickbooks', http(400), { reason: 'paused', nextAttemptAt: null });
    const paused = { pausedAt: now, pausedReason, nextProbeAt: new Date('2026-11-22T12:05:00Z') };
    const words = explainInWords({ ...facts, destination: { ...facts.destination, ...paused } });
    expect(words).toEqual({
      summary: `The delivery is held because its QuickBooks Online connector is paused: ${pausedReason}`,
      next: "It will be sent as soon as you save the connector's config, or set `isPaused` to false. Tollgate will check the connector again at 2026-11-22T12:05:00.000Z, and resume it if the check succeeds.",
      advice: "Fix the cause in QuickBooks Online or in the connector's config.",
    });
    expect(`${words.next} ${words.advice}`).not.toMatch(/credential/);
  });
});

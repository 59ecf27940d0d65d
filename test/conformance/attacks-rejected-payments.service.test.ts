import pino from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { FacilitatorRequest } from '../../src/gateway/chain/facilitator.ts';
import type { Misbehaviour } from '../gateway/chain/facilitator-server.ts';
import { sign, v2Headers } from '../gateway/sign.ts';
import { decodeHeader, payingFetch, payingFetchV1 } from '../gateway/support.ts';
import { type AttackStage, openAttackStage } from './attack-stage.ts';

// Surrogate pairs must stay whole, and 500 characters can take up to 1,000 UTF-16 code units.
const DESCRIPTIONS = {
  '/exact': { given: '☀️'.repeat(250), sent: '☀️'.repeat(250) },
  '/long': { given: `a${'🌦'.repeat(499)} and more`, sent: `a${'🌦'.repeat(498)}…` },
  '/weather': { given: 'Weather', sent: 'Weather' },
};

const logLines: { level: number; paymentId?: string; err?: { message: string } }[] = [];
let stage: AttackStage;

beforeAll(async () => {
  const log = pino({}, { write: (line: string) => logLines.push(JSON.parse(line)) });
  const endpoints = Object.entries(DESCRIPTIONS).map(([path, { given }]) => [path, { description: given }]);
  stage = await openAttackStage({ endpoints: Object.fromEntries(endpoints), log });
});
beforeEach(() => {
  stage.upstream.requests.length = 0;
  stage.rails.facilitator.calls.length = 0;
});
afterAll(() => stage?.close());

const descriptionIn = ({ paymentPayload, paymentRequirements }: FacilitatorRequest): string =>
  ((paymentPayload.resource ?? paymentRequirements) as { description: string }).description;

/** Rejects longer descriptions, as some facilitators do. */
const onlyShort: Misbehaviour = async (response, real, request) => {
  if ([...descriptionIn(request)].length > 500) response.writeHead(400).end('"description" is too long');
  else response.end(JSON.stringify(await real()));
};

test.each([
  ['version 2', payingFetch],
  ['version 1', payingFetchV1],
])(
  "at most 500 characters of a longer description are sent to the facilitator, and a %s client's payment is settled",
  async (_what, paying) => {
    const { rails, urls } = stage;
    for (const operation of ['verify', 'settle'] as const) rails.facilitator.misbehave(operation, onlyShort);
    for (const [path, { sent }] of Object.entries(DESCRIPTIONS)) {
      rails.facilitator.calls.length = 0;
      const unpaid = await fetch(urls[0] + path);
      const required = decodeHeader<{ resource: { description: string } }>(unpaid.headers.get('payment-required'));
      expect(required.resource.description).toBe(sent);
      expect((await paying(await rails.wallet())(urls[0] + path)).status).toBe(200);
      expect(rails.facilitator.calls.map(({ operation }) => operation)).toEqual(['verify', 'settle']);
      for (const { request } of rails.facilitator.calls) expect(descriptionIn(request)).toBe(sent);
    }
  },
);

test.each([400, 401, 403, 404, 422])(
  "a facilitator's %i is logged with its text and shown to the seller, and the buyer gets a 502 that doesn't suggest a retry",
  async (statusCode) => {
    const { rails, upstream, urls, seller, shop } = stage;
    rails.facilitator.misbehave(
      'verify',
      (response) => void response.writeHead(statusCode).end('{"errorType":"unauthorized"}'),
    );
    const payment = v2Headers(await sign(await rails.wallet()));

    const answer = await fetch(`${urls[0]}/weather`, { headers: payment });

    const text = await answer.text();
    expect([answer.status, JSON.parse(text).code]).toEqual([502, 'FACILITATOR_REJECTED']);
    for (const name of ['retry-after', 'payment-required']) expect(answer.headers.get(name)).toBeNull();
    expect(text).not.toContain('unauthorized');
    expect(upstream.requests).toHaveLength(0);
    expect(rails.facilitator.countOf('verify')).toBe(1);

    const message = `The facilitator responded with status ${statusCode}: {"errorType":"unauthorized"}`;
    const paymentId = answer.headers.get('tollgate-payment-id');
    expect((await seller.rest('GET', `${shop.base}/payments/${paymentId}`)).body).toMatchObject({
      status: 'FAILED',
      failureStage: 'VERIFY',
      failureReason: 'facilitator_rejected',
      failureMessage: message,
    });
    const logged = logLines.filter((line) => line.paymentId === paymentId);
    expect(logged).toMatchObject([{ level: pino.levels.values.error, err: { message } }]);

    // The payment is still valid, and succeeds once the operator has corrected the credential.
    rails.facilitator.misbehave('verify', undefined);
    expect((await fetch(`${urls[0]}/weather`, { headers: payment })).status).toBe(200);
  },
);

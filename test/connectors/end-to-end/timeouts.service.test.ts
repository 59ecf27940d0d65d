import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ConnectorType } from '../../../src/connectors/definition.ts';
import type { Interference } from '../support/vendors/server.ts';
import { json } from '../support/vendors/vendor.ts';
import { openStage, type Stage } from './stage.ts';

/** Shorter than in production. Retries also have it, so on a slow machine, they may time out, too. */
const TIMEOUT_MILLISECONDS = 2_000;

let stage: Stage;

beforeAll(async () => {
  stage = await openStage({
    timeoutMilliseconds: TIMEOUT_MILLISECONDS,
    retryScheduleSeconds: Array(20).fill(0.05),
  });
});
afterAll(() => stage?.close());

/** Sends an event, of which the vendor's first response never ends. Returns its delivery and the vendor's calls. */
async function deliver(type: ConnectorType, interference: Interference) {
  const connector = await stage.connect(type, { eventTypes: ['payment.settled'] });
  stage.vendors.interfereNext(type, interference);
  await stage.record('payment.settled');
  const [found] = await stage.deliveriesAre(connector.id, 'SUCCEEDED');
  const delivery = await stage.delivery(found!.id);
  const [first, ...later] = delivery.attempts!.map(({ errorClass }) => errorClass);
  expect(first).toBe('timeout');
  expect(later.filter((errorClass) => errorClass !== 'timeout')).toEqual([null]);
  return { delivery, calls: stage.vendors.callsTo(type), times: stage.vendors.timesOf(type) };
}

test('a vendor that keeps responding byte by byte is disconnected', async () => {
  const { times } = await deliver('slack', (_call, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const timer = setInterval(() => response.write(' '), 20);
    response.on('close', () => clearInterval(timer));
    return undefined;
  });
  expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(TIMEOUT_MILLISECONDS - 50);
});

test('an SMS without a response is looked up before another one is paid for', async () => {
  const { delivery, calls } = await deliver('twilio', (_call, _response, usual) => {
    usual();
    return undefined;
  });
  const [first, ...later] = calls.map(({ method }) => method);
  expect(first).toBe('POST');
  expect(new Set(later)).toEqual(new Set(['GET']));
  expect(delivery.reason).toBe('An earlier attempt already sent the SMS.');
});

test.each([
  ['drops the connection', undefined],
  ['returns 500', json(500, { code: 20500, message: 'Internal Server Error', status: 500 })],
])(
  'an SMS is paid for once if Twilio stores it but %s, and then can’t list messages for a while',
  async (_what, answer) => {
    const connector = await stage.connect('twilio', { eventTypes: ['payment.verified'] });
    const earlier = stage.vendors.callsTo('twilio').length;
    let lists = 0;
    stage.vendors.interfere('twilio', ({ method }, response, usual) => {
      if (method === 'GET' && ++lists < 4) return json(503, { message: 'Service Unavailable', status: 503 });
      if (method === 'GET') return usual();
      usual();
      if (!answer) response.destroy();
      return answer;
    });
    await stage.record('payment.verified');
    const [delivery] = await stage.deliveriesAre(connector.id, 'SUCCEEDED');
    stage.vendors.interfere('twilio', undefined);
    const methods = stage.vendors.callsTo('twilio').map(({ method }) => method);
    expect(methods.slice(earlier)).toEqual(['POST', 'GET', 'GET', 'GET', 'GET']);
    expect(delivery!.reason).toBe('An earlier attempt already sent the SMS.');
    await stage.patch(connector.id, { isActive: false });
  },
);

test('an SMS that is resent manually is sent again', async () => {
  const connector = await stage.connect('twilio', { eventTypes: ['customer.milestone'] });
  await stage.record('customer.milestone');
  const [delivery] = await stage.deliveriesAre(connector.id, 'SUCCEEDED');
  const earlier = stage.vendors.callsTo('twilio').length;
  await stage.user.rest('POST', `${stage.base}/deliveries/${delivery!.id}/resend`, {});
  await expect.poll(async () => stage.delivery(delivery!.id)).toMatchObject({ status: 'SUCCEEDED', attemptCount: 2 });
  expect(stage.vendors.callsTo('twilio').slice(earlier)).toMatchObject([{ method: 'POST' }]);
});

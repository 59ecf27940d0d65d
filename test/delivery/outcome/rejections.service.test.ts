import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type ConnectorDefinition, defineConnector } from '../../../src/connectors/definition.ts';
import { textField } from '../../../src/connectors/fields.ts';
import { REJECTIONS_LIMIT, rejectionKey } from '../../../src/delivery/outcome/rejections.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { openStage, type Stage, until } from '../support.ts';

const config = z.strictObject({ url: textField({ title: 'URL', description: 'Where it goes.' }) });

/** Delivers on status 200, and drops everything else with the response body as the reason. */
const strict = defineConnector<z.infer<typeof config>>({
  type: 'slack',
  title: 'Strict',
  category: 'Communication',
  description: 'For tests.',
  documentationUrl: 'https://example.com',
  config,
  supportsEvent: () => true,
  build: ([{ id }], { url }) => ({ method: 'POST', url, headers: {}, body: id }),
  classify: ({ statusCode, body }) => (statusCode === 200 ? { kind: 'delivered' } : { kind: 'drop', reason: body }),
}) as unknown as ConnectorDefinition;

let stage: Stage;
let receiver: Receiver;
let stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  stage = await openStage();
});
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  await receiver.close();
  for (const stop of stops) await stop();
  stops = [];
});
afterAll(() => stage.close());

function startWorker() {
  const worker = stage.startWorker({}, { connectors: [strict] });
  stops.push(() => worker.stop());
}

const addConnector = () => stage.addConnector('slack', { url: receiver.url });
const isPaused = async (id: string) => (await stage.connector(id)).pausedAt !== null;

/** Sends one delivery per reason, in order. Null means that the delivery succeeds. */
async function send(connectorId: string, ...reasons: (string | null)[]): Promise<void> {
  for (const reason of reasons) {
    receiver.respondNext(reason === null ? {} : { statusCode: 422, body: reason });
    await stage.deliveryIs(await stage.addDelivery(connectorId), reason === null ? 'SUCCEEDED' : 'FAILED');
  }
}

const times = (count: number, reason: string) => Array.from({ length: count }, () => reason);

describe('a connector with rejected deliveries', () => {
  test('pauses after five rejections in a row for the same reason, and no sooner', async () => {
    const id = await addConnector();
    startWorker();
    await send(id, ...times(REJECTIONS_LIMIT - 1, 'No such field.'));
    expect(await stage.connector(id)).toMatchObject({ pausedAt: null, failingSince: null });
    const { rejectedSince } = await stage.connector(id);
    await send(id, 'No such field.');
    expect(await stage.connector(id)).toMatchObject({
      isActive: true,
      pausedAt: expect.any(Date),
      pausedReason: 'The last 5 deliveries were rejected for the same reason: No such field.',
      failingSince: rejectedSince,
    });
    const held = await stage.addDelivery(id);
    await until(async () => (await stage.delivery(held)).nextAttemptAt === null);
    expect(await stage.delivery(held)).toMatchObject({ status: 'PENDING', reason: 'paused', attemptCount: 0 });
    expect(receiver.requests).toHaveLength(REJECTIONS_LIMIT);
  });

  test('starts counting again after a success or a different reason', async () => {
    const id = await addConnector();
    startWorker();
    await send(id, ...times(4, 'No such field.'), null, ...times(4, 'No such field.'));
    expect(await isPaused(id)).toBe(false);
    await send(id, 'Too long.', ...times(4, 'No such field.'));
    expect(await isPaused(id)).toBe(false);
    await send(id, 'No such field.');
    expect(await isPaused(id)).toBe(true);
  });

  test('counts rejections across processes', async () => {
    const id = await addConnector();
    startWorker();
    await send(id, ...times(3, 'No such field.'));
    await stops.pop()!();
    startWorker();
    startWorker();
    await send(id, 'No such field.');
    expect(await isPaused(id)).toBe(false);
    await send(id, 'No such field.');
    expect(await isPaused(id)).toBe(true);
  });

  test('counts concurrent rejections one by one', async () => {
    const id = await addConnector();
    receiver.handle(() => ({ statusCode: 422, body: 'No such field.' }));
    const ids = await stage.addDeliveries(id, REJECTIONS_LIMIT);
    startWorker();
    startWorker();
    for (const each of ids) await stage.deliveryIs(each, 'FAILED');
    expect(await isPaused(id)).toBe(true);
  });

  test('does not count test events and manual resends', async () => {
    const id = await addConnector();
    receiver.handle(() => ({ statusCode: 422, body: 'No such field.' }));
    startWorker();
    for (let count = 0; count < REJECTIONS_LIMIT; count++) {
      await stage.deliveryIs(await stage.addDelivery(id, {}, { test: true }), 'FAILED');
      await stage.deliveryIs(await stage.addDelivery(id, { trigger: 'MANUAL' }), 'FAILED');
    }
    expect(await isPaused(id)).toBe(false);
  });

  test('is not paused if the last rejection was of its previous config', async () => {
    const id = await addConnector();
    startWorker();
    await send(id, ...times(4, 'No such field.'));
    const cell = { table: 'Connector', column: 'secretConfig', rowId: id, projectId: stage.projectId };
    receiver.handle(async () => {
      const secretConfig = stage.secretBox.seal(JSON.stringify({ url: receiver.url }), cell);
      await stage.pool.query(`UPDATE "Connector" SET "secretConfig" = $2 WHERE "id" = $1`, [id, secretConfig]);
      return { statusCode: 422, body: 'No such field.' };
    });
    await stage.deliveryIs(await stage.addDelivery(id), 'FAILED');
    expect(await isPaused(id)).toBe(false);
  });
});

describe('the reason for a rejection', () => {
  test('ignores the IDs, amounts, and times that the vendor quotes', () => {
    const of = (id: string, amount: string) => rejectionKey(400, `Row ${id} of ${amount} USD has no "tenant".`);
    expect(of('evt_01jc9x2v5q', '12.50')).toBe(of('0xd8dA6BF26964', '0.01'));
  });

  test('differs when the status, a code, or the wording differs', () => {
    const keys = [
      rejectionKey(400, 'No (HTTP 400): code 6000'),
      rejectionKey(400, 'No (HTTP 400): code 6240'),
      rejectionKey(422, 'No (HTTP 422): code 6000'),
      rejectionKey(400, 'No (HTTP 400): name'),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });
});

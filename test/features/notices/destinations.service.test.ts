import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type ConnectorDefinition, defineConnector } from '../../../src/connectors/definition.ts';
import { textField } from '../../../src/connectors/fields.ts';
import type { DeliveryWorker } from '../../../src/delivery/worker.ts';
import { until } from '../../delivery/support.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { messageIn, type NoticeStage, openNoticeStage, sentTypes } from './support.ts';

let stage: NoticeStage;
let receiver: Receiver;
let contact: Receiver;
let worker: DeliveryWorker | undefined;
let projectId: string;

beforeAll(async () => {
  stage = await openNoticeStage();
});
beforeEach(async () => {
  receiver = await startReceiver();
  contact = await startReceiver();
  projectId = await stage.addProject();
  await stage.setContacts(projectId, { webhookUrl: `${contact.url}/notices` });
});
afterEach(async () => {
  await worker?.stop();
  worker = undefined;
  await receiver.close();
  await contact.close();
});
afterAll(() => stage?.close());

const deliver = (id: string) => stage.addDelivery(id, { projectId });
const addWebhook = () => stage.addWebhook(`${receiver.url}/secret-path-1234`, { projectId });
const openTypes = async () =>
  (await stage.noticesOf(projectId)).filter(({ closedAt }) => closedAt === null).map(({ type }) => type);

/** Makes the webhook fail until a notice about it exists. */
async function failOnce(webhookId: string): Promise<void> {
  receiver.handle(() => ({ statusCode: 500 }));
  const id = await deliver(webhookId);
  worker ??= stage.startWorker();
  await stage.deliveryIs(id, 'FAILED');
}

describe('a notice about a destination', () => {
  test('is written when deliveries start to fail, and sent once they have failed for five minutes', async () => {
    const webhook = await addWebhook();
    await failOnce(webhook.id);
    const [notice] = await stage.noticesOf(projectId);
    expect(notice).toMatchObject({
      type: 'destination.failing',
      subjectId: webhook.id,
      count: 1,
      closedAt: null,
      notifiedAt: null,
      subject: `127.0.0.1:${receiver.port}`,
      id: expect.stringMatching(/^ntc_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
    });
    await stage.run();
    expect(contact.requests).toHaveLength(0);
    await stage.letPass('5 minutes');
    await stage.run();
    expect(contact.requests).toHaveLength(1);
    expect(messageIn(contact.requests[0]!)).toMatchObject({
      type: 'notices',
      projectId,
      data: {
        moreCount: 0,
        notices: [
          {
            type: 'destination.failing',
            title: `Deliveries to 127.0.0.1:${receiver.port} are failing`,
            url: `https://tollgate.example/console/projects/${projectId}/deliveries?destination=${webhook.id}`,
          },
        ],
      },
    });
    expect(contact.requests[0]!.body.toString()).not.toContain('secret-path');
    await stage.run();
    expect(contact.requests).toHaveLength(1);
  });

  test('is one row and one message for a thousand failed deliveries', async () => {
    receiver.handle(() => ({ statusCode: 500 }));
    const webhook = await addWebhook();
    const eventId = await stage.addEvent({ projectId });
    // Deliveries that are resent manually don't wait while the circuit is open.
    await stage.pool.query(
      `INSERT INTO "Delivery" ("id", "projectId", "eventId", "eventType", "webhookId", "trigger")
       SELECT new_id('dlv'), $1, $2, 'endpoint.created', $3, 'MANUAL' FROM generate_series(1, 1000)`,
      [projectId, eventId, webhook.id],
    );
    worker = stage.startWorker({ retryScheduleSeconds: [] });
    const unfinished = `SELECT count(*)::int AS n FROM "Delivery" WHERE "projectId" = $1 AND "outcome" IS NULL`;
    await until(async () => (await stage.pool.query(unfinished, [projectId])).rows[0].n === 0);
    await stage.letPass('5 minutes');
    await Promise.all([stage.run(), stage.run()]);
    expect(await stage.noticesOf(projectId)).toHaveLength(1);
    expect(sentTypes(contact.requests)).toEqual([['destination.failing']]);
  });

  test('says that it recovered if the contacts were notified that it failed', async () => {
    const webhook = await addWebhook();
    await failOnce(webhook.id);
    await stage.letPass('5 minutes');
    await stage.run();
    receiver.handle(() => ({}));
    await stage.deliveryIs(await deliver(webhook.id), 'SUCCEEDED');
    expect(await openTypes()).toEqual([]);
    await stage.run();
    expect(contact.requests, 'the next message has to wait').toHaveLength(1);
    await stage.letPass('10 minutes');
    await stage.run();
    expect(sentTypes(contact.requests)).toEqual([['destination.failing'], ['destination.recovered']]);
  });

  test('is never sent if deliveries succeed again within five minutes', async () => {
    const webhook = await addWebhook();
    await failOnce(webhook.id);
    receiver.handle(() => ({}));
    await stage.deliveryIs(await deliver(webhook.id), 'SUCCEEDED');
    await stage.letPass('1 day');
    await stage.run();
    expect(contact.requests).toHaveLength(0);
    expect(await stage.noticesOf(projectId)).toMatchObject([{ type: 'destination.failing', dueAt: null }]);
  });

  test('counts failures that return within an hour in the same row, and drops a recovery that was not sent', async () => {
    const webhook = await addWebhook();
    await failOnce(webhook.id);
    await stage.letPass('5 minutes');
    await stage.run();
    for (let round = 0; round < 3; round++) {
      receiver.handle(() => ({}));
      await stage.deliveryIs(await deliver(webhook.id), 'SUCCEEDED');
      await failOnce(webhook.id);
    }
    expect(await stage.noticesOf(projectId)).toMatchObject([
      { type: 'destination.failing', count: 4, closedAt: null, dueAt: null },
    ]);
    await stage.letPass('6 minutes');
    await stage.run();
    expect(contact.requests).toHaveLength(1);
  });

  test('is sent immediately when a destination is disabled', async () => {
    receiver.handle(() => ({ statusCode: 410 }));
    const webhook = await addWebhook();
    const id = await deliver(webhook.id);
    worker = stage.startWorker();
    await stage.deliveryIs(id, 'FAILED');
    await stage.run();
    const [notice] = messageIn(contact.requests[0]!).data.notices;
    expect(notice).toMatchObject({
      type: 'destination.disabled',
      cause: 'The destination responded with 410 Gone.',
      url: `https://tollgate.example/console/projects/${projectId}/webhooks`,
    });
  });

  test('is sent immediately when a connector is paused, and says why', async () => {
    const connectorId = await stage.addConnector('slack', { url: receiver.url }, { projectId: stage.projectId });
    await stage.setContacts(stage.projectId, { webhookUrl: contact.url });
    const id = await stage.addDelivery(connectorId);
    worker = stage.startWorker({}, { connectors: [PAUSING] });
    await until(async () => (await stage.connector(connectorId)).pausedReason !== null);
    await worker.stop();
    worker = undefined;
    expect(await stage.delivery(id)).toMatchObject({ status: 'PENDING' });
    await stage.run();
    expect(messageIn(contact.requests[0]!).data.notices).toMatchObject([
      { type: 'destination.paused', subjectId: connectorId, cause: 'The key was revoked.' },
    ]);
  });

  test('calls the destination by its name, if it has one', async () => {
    const webhook = await stage.addWebhook(`${receiver.url}/in`, { projectId, name: 'Books, Zürich' });
    await failOnce(webhook.id);
    expect(await stage.noticesOf(projectId)).toMatchObject([{ subject: 'Books, Zürich' }]);
    const connectorId = await stage.addConnector('slack', { url: receiver.url }, { name: 'Sales' });
    await stage.pool.query(`UPDATE "Connector" SET "disabledReason" = 'failing' WHERE "id" = $1`, [connectorId]);
    const about = (await stage.noticesOf(stage.projectId)).filter(({ subjectId }) => subjectId === connectorId);
    expect(about).toMatchObject([{ type: 'destination.disabled', subject: 'Sales' }]);
  });

  test('ends without a message when the owner changes the destination', async () => {
    const webhook = await addWebhook();
    await failOnce(webhook.id);
    await stage.letPass('5 minutes');
    await stage.run();
    await stage.pool.query(
      `UPDATE "Webhook" SET "url" = 'https://new.example', "failingSince" = NULL, "updatedAt" = now() WHERE "id" = $1`,
      [webhook.id],
    );
    expect(await openTypes()).toEqual([]);
    await stage.letPass('1 day');
    await stage.run();
    expect(contact.requests).toHaveLength(1);
  });

  test('is written in the same transaction as the change, so neither exists without the other', async () => {
    const webhook = await addWebhook();
    const client = await stage.pool.connect();
    await client.query('BEGIN');
    await client.query(`UPDATE "Webhook" SET "isActive" = false, "disabledReason" = 'gone' WHERE "id" = $1`, [
      webhook.id,
    ]);
    expect(await stage.noticesOf(projectId)).toEqual([]);
    await client.query('ROLLBACK');
    client.release();
    expect(await stage.noticesOf(projectId)).toEqual([]);
    await stage.pool.query(`UPDATE "Webhook" SET "isActive" = false, "disabledReason" = 'gone' WHERE "id" = $1`, [
      webhook.id,
    ]);
    // The process that recorded the failure is gone. Any other process sends the notice.
    await stage.run();
    expect(sentTypes(contact.requests)).toEqual([['destination.disabled']]);
  });
});

/** A connector with credentials that its vendor rejects. */
const PAUSING = defineConnector<{ url: string }>({
  type: 'slack',
  title: 'Slack',
  category: 'Communication',
  description: 'For tests.',
  documentationUrl: 'https://example.com',
  config: z.strictObject({ url: textField({ title: 'URL', description: 'Where it goes.' }) }),
  supportsEvent: () => true,
  build: (_events, { url }) => ({ method: 'POST', url, headers: {} }),
  classify: () => ({ kind: 'pause', reason: 'The key was revoked' }),
}) as unknown as ConnectorDefinition;

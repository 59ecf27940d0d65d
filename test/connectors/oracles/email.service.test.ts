import sendgrid from '@sendgrid/mail';
import { expect, test } from 'vitest';
import { email } from '../../../src/connectors/types/email.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { startReceiver } from '../../support/receiver.ts';
import { requestOf, sampleContext, sampleEvent } from '../support/samples.ts';

const apiKey = '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';
const config = { apiKey, from: 'Pay <p@x.example>', to: ['a@x.example', 'Jane <j@x.example>'] };

test.each(EVENT_TYPES)(
  'the SendGrid connector sends the same email for %s as SendGrid’s library',
  async (eventType) => {
    const event = sampleEvent(eventType);
    const ours = requestOf(email.build([event], config, sampleContext()));
    const body = JSON.parse(ours.body ?? '');
    await using receiver = await startReceiver(() => ({ statusCode: 202 }));
    sendgrid.setApiKey(apiKey);
    // Set after the key, because the key resets the address. The public types don't include the client.
    (
      sendgrid as unknown as { client: { setDefaultRequest(key: string, value: string): void } }
    ).client.setDefaultRequest('baseUrl', receiver.url);
    await sendgrid.send({
      isMultiple: true,
      to: config.to,
      from: config.from,
      subject: body.subject,
      text: body.content[0].value,
      html: body.content[1].value,
      customArgs: { event_id: event.id },
      trackingSettings: { clickTracking: { enable: false } },
    });

    const [theirs] = await receiver.waitFor(1);
    expect(theirs?.method).toBe(ours.method);
    expect(theirs?.path).toBe(new URL(ours.url).pathname);
    expect(theirs?.headers.authorization).toBe(ours.headers.authorization);
    expect(theirs?.headers['content-type']).toBe(ours.headers['content-type']);
    expect(JSON.parse(String(theirs?.body))).toEqual(body);
  },
);

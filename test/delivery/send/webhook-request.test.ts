import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { webhookBody } from '../../../src/delivery/send/webhook-request.ts';

const event = {
  id: 'evt_1',
  type: 'endpoint.created',
  test: false,
  timestamp: new Date('2026-03-01T12:00:00.123Z'),
  data: '{"path":"/now"}',
};

describe('webhookBody', () => {
  test('contains the event and nothing else', () => {
    expect(webhookBody(event, 'proj_1')).toBe(
      '{"id":"evt_1","type":"endpoint.created","timestamp":"2026-03-01T12:00:00.123Z","projectId":"proj_1","data":{"path":"/now"}}',
    );
  });

  test('marks a test event', () => {
    expect(JSON.parse(webhookBody({ ...event, test: true }, 'proj_1'))).toMatchObject({ id: 'evt_1', test: true });
    expect(webhookBody(event, 'proj_1')).not.toContain('test');
  });

  test('is the same as JSON.stringify of its parts, for any data', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (data) => {
        const { id, type, timestamp } = event;
        const stored = JSON.stringify(data);
        expect(webhookBody({ ...event, data: stored }, 'proj_1')).toBe(
          JSON.stringify({
            id,
            type,
            timestamp: timestamp.toISOString(),
            projectId: 'proj_1',
            data: JSON.parse(stored),
          }),
        );
      }),
    );
  });

  test('keeps the bytes of the data even if parsing would change them', () => {
    const data = '{"amountAtomic":12345678901234567890, "2":0, "1":0}';
    expect(webhookBody({ ...event, data }, 'proj_1')).toContain(data);
  });
});

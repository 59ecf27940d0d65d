import { expect, test } from 'vitest';
import { matching as matchingDeliveries } from '../../src/features/deliveries/filter.ts';
import { matching as matchingEvents } from '../../src/features/events/filter.ts';
import { toColumns as paymentColumns } from '../../src/features/payments/filter.ts';

const repeated = <Value>(value: Value): Value[] => Array(1_000).fill(value);

test('values that are repeated in a filter are looked up once', () => {
  expect(matchingEvents({ eventTypes: repeated('payment.failed') })).toContainEqual({
    type: { in: ['payment.failed'] },
  });
  expect(paymentColumns({ status: repeated('FAILED' as const) })).toMatchObject({ status: ['FAILED'] });
  const deliveries = matchingDeliveries({
    status: repeated('FAILED' as const),
    eventTypes: repeated('payment.failed'),
  });
  expect(deliveries).toContainEqual({ status: { in: ['FAILED'] } });
  expect(deliveries).toContainEqual({ eventType: { in: ['payment.failed'] } });
});

test("a delivery's event can have any ID", () => {
  expect(() => matchingDeliveries({ eventId: 'evt_7zzzzzzzzzzzzzzzzzzzzzzzzz' })).not.toThrow();
});

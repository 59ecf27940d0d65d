import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { derivedId, derivedUuid } from '../../../src/connectors/shared/derived-id.ts';

describe('the derived ID', () => {
  test('is the start of the SHA-256 hash of the event and connector IDs', () => {
    // printf 'evt_1:con_1' | sha256sum
    expect(derivedId('evt_1', 'con_1')).toBe('724444119747a19251b72f32ec2cf3b6');
  });

  test('differs between connectors and between events', () => {
    const ids = ['con_1', 'con_2'].flatMap((con) => ['evt_1', 'evt_2'].map((evt) => derivedId(evt, con)));
    expect(new Set(ids).size).toBe(4);
  });

  test('is a version 4 UUID with the same digits', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (eventId, connectorId) => {
        const uuid = derivedUuid(eventId, connectorId);
        expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(uuid.slice(-12)).toBe(derivedId(eventId, connectorId).slice(-12));
      }),
    );
  });
});

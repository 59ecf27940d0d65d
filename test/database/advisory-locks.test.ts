import { expect, test } from 'vitest';
import { ADVISORY_LOCKS } from '../../src/database/advisory-locks.ts';

test('locks for different purposes have different keys', () => {
  const numbers = Object.values(ADVISORY_LOCKS);
  expect(new Set(numbers).size).toBe(numbers.length);
});

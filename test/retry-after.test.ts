import { describe, expect, test } from 'vitest';
import { parseRetryAfter } from '../src/retry-after.ts';

describe('parseRetryAfter', () => {
  const now = Date.parse('2026-03-01T12:00:00Z');
  test.each([
    [{ 'retry-after': '120' }, 120],
    [{ 'retry-after': ' 0 ' }, 0],
    [{ 'retry-after': '999999999' }, 86_400],
    [{ 'retry-after': 'Sun, 01 Mar 2026 12:01:00 GMT' }, 60],
    [{ 'retry-after': 'Sun, 01 Mar 2026 11:00:00 GMT' }, 0],
    [{ 'retry-after': 'Sun, 01 Mar 2026 12:01:00 GMT', date: 'Sun, 01 Mar 2026 12:00:30 GMT' }, 30],
    [{ 'retry-after': '0.3' }, 1],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '-5' }, undefined],
    [{ 'retry-after': '' }, undefined],
    [{}, undefined],
  ])('parses the headers %j', (headers, expected) => {
    const seconds = parseRetryAfter(headers, now);
    expect(seconds).toBe(expected);
  });
});

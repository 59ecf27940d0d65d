import { describe, expect, test } from 'vitest';
import {
  classifyByStatus,
  failedProbe,
  parseJson,
  retry,
  retryAfterSeconds,
  valueAt,
  vendorText,
} from '../../../src/connectors/shared/classify.ts';
import { HOSTILE_TEXTS, vendorResponse } from '../support/samples.ts';

describe('classifying by status', () => {
  test.each([
    [200, 'delivered'],
    [202, 'delivered'],
    [204, 'delivered'],
    [301, 'drop'],
    [302, 'drop'],
    [400, 'drop'],
    [401, 'pause'],
    [403, 'pause'],
    [404, 'disable'],
    [408, 'retry'],
    [409, 'drop'],
    [410, 'disable'],
    [413, 'drop'],
    [422, 'drop'],
    [429, 'retry'],
    [500, 'retry'],
    [503, 'retry'],
    [520, 'retry'],
  ])('turns the status %i into %s', (statusCode, kind) => {
    expect(classifyByStatus('Vendor', vendorResponse(statusCode)).kind).toBe(kind);
  });

  test('drops an unexpected 2xx', () => {
    expect(classifyByStatus('Vendor', vendorResponse(202), { expected: [202] }).kind).toBe('delivered');
    expect(classifyByStatus('Vendor', vendorResponse(200), { expected: [202] }).kind).toBe('drop');
  });

  test('includes the status and the detail in a reason of at most 200 characters', () => {
    expect(classifyByStatus('Vendor', vendorResponse(403), { detail: 'not yours' })).toEqual({
      kind: 'pause',
      reason: 'Vendor denied access; check the permissions of the credentials (HTTP 403): not yours',
    });
    for (const detail of HOSTILE_TEXTS) {
      const outcome = classifyByStatus('Vendor', vendorResponse(400), { detail });
      expect('reason' in outcome && outcome.reason.length).toBeLessThanOrEqual(200);
      expect('reason' in outcome && outcome.reason).not.toMatch(/[\p{Cc}\u202E]/u);
    }
  });
});

describe('Retry-After', () => {
  const now = new Date('2026-01-02T03:04:05Z');
  const seconds = (value: string, headers: Record<string, string> = {}) =>
    retryAfterSeconds(vendorResponse(429, '', { 'retry-after': value, ...headers }), now);

  test('can be a whole or fractional number of seconds', () => {
    expect(seconds('30')).toBe(30);
    expect(seconds('0.3')).toBe(1);
  });

  test('can be a date, relative to now', () => {
    expect(seconds('Fri, 02 Jan 2026 03:05:05 GMT')).toBe(60);
    expect(seconds('Fri, 02 Jan 2026 03:00:00 GMT')).toBe(0);
  });

  test("is relative to the response's own date if it has one", () => {
    const headers = { 'retry-after': 'Fri, 02 Jan 2026 03:05:05 GMT', date: 'Fri, 02 Jan 2026 03:05:00 GMT' };
    expect(retryAfterSeconds(vendorResponse(503, '', headers))).toBe(5);
    // The clocks can differ.
    expect(retryAfterSeconds(vendorResponse(503, '', headers), now)).toBe(5);
  });

  test('is capped at a day', () => {
    expect(seconds('99999999')).toBe(86_400);
    expect(seconds('Fri, 02 Jan 2099 03:05:05 GMT')).toBe(86_400);
    expect(retry('Wait.', 1e12)).toEqual({ kind: 'retry', reason: 'Wait.', afterSeconds: 86_400 });
  });

  test.each(['', 'soon', '-5', 'NaN'])('is ignored if it is %j', (value) => {
    expect(seconds(value)).toBeUndefined();
    expect(classifyByStatus('Vendor', vendorResponse(429, '', { 'retry-after': value }), { now })).not.toHaveProperty(
      'afterSeconds',
    );
  });

  test('is part of the outcome', () => {
    expect(classifyByStatus('Vendor', vendorResponse(503, '', { 'retry-after': '7' }))).toMatchObject({
      kind: 'retry',
      afterSeconds: 7,
    });
  });
});

describe("a vendor's message", () => {
  test('is shortened and stripped of control and direction characters', () => {
    expect(vendorText('a\r\n\u0000b\u202Ec')).toBe('a bc');
    expect(vendorText('x'.repeat(500), [], 10)).toBe(`${'x'.repeat(9)}…`);
    expect(vendorText(42)).toBe('42');
    expect(vendorText({ evil: true })).toBe('');
  });

  test('never contains a secret', () => {
    expect(vendorText('Key SG.secret is bad (SG.secret)', ['SG.secret', ''])).toBe('Key •••• is bad (••••)');
  });
});

describe('reading untrusted JSON', () => {
  test('returns undefined for anything that is missing', () => {
    expect(parseJson('<html>')).toBeUndefined();
    expect(valueAt(parseJson('{"errors":[{"message":"no"}]}'), 'errors', 0, 'message')).toBe('no');
    expect(valueAt({ a: 1 }, 'a', 'b')).toBeUndefined();
    expect(valueAt(null, 'a')).toBeUndefined();
    expect(valueAt({}, '__proto__')).toBeUndefined();
    expect(valueAt({}, 'constructor')).toBeUndefined();
  });
});

describe('a failed probe', () => {
  test('reports the same reason as a failed delivery', () => {
    expect(failedProbe('Vendor', { kind: 'pause', reason: 'Replace it.' })).toEqual({
      ok: false,
      message: 'Replace it.',
    });
    expect(failedProbe('Vendor', { kind: 'delivered' })).toMatchObject({ ok: false });
  });
});

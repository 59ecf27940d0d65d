import { STATUS_CODES } from 'node:http';
import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { AppError, ERRORS, type ErrorCode, invalidField, notFound } from '../src/errors.ts';
import { errorHeaders, toAppError, toProblem } from '../src/http/problem.ts';

const CODES = Object.keys(ERRORS) as ErrorCode[];
const silent = pino({ level: 'silent' });
const problemOf = (error: AppError) =>
  toProblem(error, { instance: '/api/projects', requestId: 'req_1', publicUrl: 'https://tollgate.example' });

describe('the error catalog', () => {
  test.each(CODES)('has a valid name, an HTTP status, and a helpful message for %s', (code) => {
    const { status, message } = ERRORS[code];
    expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
    expect(STATUS_CODES).toHaveProperty(String(status));
    expect(status).toBeGreaterThanOrEqual(400);
    // Messages say what went wrong and what to do, or only what to do.
    expect(message).toMatch(/^(Send|[A-Z].*[.:]) .*\.$/s);
  });

  test('is sorted by status', () => {
    const statuses = CODES.map((code) => ERRORS[code].status);
    expect(statuses).toEqual(statuses.toSorted((left, right) => left - right));
  });

  test('marks only temporary errors as retryable', () => {
    const retryable = CODES.filter((code) => new AppError(code).retryable);
    expect(retryable).toEqual(
      expect.arrayContaining(['RATE_LIMITED', 'IDEMPOTENCY_IN_FLIGHT', 'INTERNAL', 'UNAVAILABLE']),
    );
    const permanent = ['VALIDATION_FAILED', 'NOT_FOUND', 'CONFLICT', 'FORBIDDEN', 'UNAUTHENTICATED', 'MALFORMED_JSON'];
    for (const code of permanent) expect(retryable).not.toContain(code);
  });
});

describe('an error', () => {
  test('has the message from the catalog unless a detail replaces it', () => {
    expect(new AppError('CONFLICT').message).toBe(ERRORS.CONFLICT.message);
    expect(new AppError('CONFLICT', { detail: 'Taken.' }).message).toBe('Taken.');
  });

  test('names fields by pointer', () => {
    const error = invalidField('/priceUsd', 'Must be above 0.');
    expect(error).toMatchObject({ code: 'VALIDATION_FAILED', status: 422 });
    expect(error.fields).toEqual([{ pointer: '/priceUsd', message: 'Must be above 0.' }]);
  });

  test("is the same for someone else's resource and for one that doesn't exist", () => {
    expect(problemOf(notFound())).toEqual(problemOf(new AppError('NOT_FOUND')));
  });
});

describe('a problem', () => {
  test('has all documented members', () => {
    expect(problemOf(invalidField('/a', 'No.'))).toEqual({
      type: 'https://tollgate.example/docs/errors#validation_failed',
      title: ERRORS.VALIDATION_FAILED.message,
      status: 422,
      detail: 'Invalid a: no.',
      instance: '/api/projects',
      code: 'VALIDATION_FAILED',
      requestId: 'req_1',
      errors: [{ pointer: '/a', message: 'No.' }],
    });
  });

  test('has a type that is relative to the URL of the request if the service does not know its public URL', () => {
    const { type } = toProblem(notFound(), { instance: '/x', requestId: 'req_1', publicUrl: undefined });
    expect(type).toBe('/docs/errors#not_found');
    expect(new URL(type, 'https://pay.example/api/x').href).toBe('https://pay.example/docs/errors#not_found');
  });

  test('reveals nothing about unexpected errors', () => {
    const secret = 'password=hunter2';
    for (const thrown of [new Error(secret), secret, null, undefined, 7, { statusCode: 500, message: secret }]) {
      const error = toAppError(thrown, silent);
      expect(error.code).toBe('INTERNAL');
      expect(JSON.stringify(problemOf(error))).not.toContain('hunter2');
    }
  });

  test.each([
    [413, 'PAYLOAD_TOO_LARGE'],
    [415, 'UNSUPPORTED_MEDIA_TYPE'],
    [404, 'NOT_FOUND'],
    [400, 'BAD_REQUEST'],
    [414, 'BAD_REQUEST'],
    [499, 'BAD_REQUEST'],
    [399, 'INTERNAL'],
    [500, 'INTERNAL'],
  ])('turns the status %i from the HTTP layer into the code %s', (statusCode, code) => {
    expect(toAppError(Object.assign(new Error('x'), { statusCode }), silent).code).toBe(code);
  });

  test('has a Retry-After header if the error has a delay', () => {
    const error = new AppError('RATE_LIMITED', { retryAfterSeconds: 7, headers: { ratelimit: '"default";r=0;t=7' } });
    expect(errorHeaders(error)).toEqual({ 'retry-after': '7', ratelimit: '"default";r=0;t=7' });
    expect(errorHeaders(new AppError('NOT_FOUND'))).toEqual({});
  });
});

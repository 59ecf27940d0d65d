import { expect, test, vi } from 'vitest';
import type { Viewer } from '../../src/auth/viewer.ts';
import { AppError } from '../../src/errors.ts';
import type { IdempotencyStore, StoredResponse } from '../../src/features/idempotency/store.ts';
import { runOnce } from '../../src/http/run-once.ts';
import { currentRequest } from '../../src/request-context.ts';

const VIEWER: Viewer = { kind: 'user', userId: 'usr_1', tier: 'PRO', requestsPerMinute: null, expiresAt: new Date() };
const ANSWER: StoredResponse = { status: 201, headers: { location: '/x' }, body: { id: 'x' } };

type Attempt = Exclude<Awaited<ReturnType<IdempotencyStore['begin']>>, string | StoredResponse>;

function open(overrides: Partial<IdempotencyStore & Attempt> = {}) {
  const calls: string[] = [];
  const { begin, ...methods } = overrides;
  const attempt: Attempt = {
    mark: async () => {},
    finish: async (response) => void calls.push(response === 'too_large' ? 'finish without response' : 'finish'),
    abandon: async () => void calls.push('abandon'),
    ...methods,
  };
  const store: IdempotencyStore = { begin: begin ?? (async () => attempt) };
  const warn = vi.fn();
  const request = { viewer: VIEWER, header: 'k', fingerprint: 'f', requireAccess: async () => {}, log: { warn } };
  return { calls, warn, run: (run: () => Promise<StoredResponse>) => runOnce(store, request, run) };
}

const fail = (error: unknown) => async () => Promise.reject(error);
const broken = fail(new Error('the database is gone'));

test('a rejected request frees its Idempotency-Key', async () => {
  const { calls, run } = open();
  await expect(run(fail(new AppError('CONFLICT')))).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(calls).toEqual(['abandon']);
});

test.each([new AppError('INTERNAL'), new AppError('UNAVAILABLE'), new Error('unexpected')])(
  'after %s, the Idempotency-Key stays in use, because the change may have been made',
  async (error) => {
    const { calls, run } = open();
    await expect(run(fail(error))).rejects.toBe(error);
    expect(calls).toEqual([]);
  },
);

test('a successful request returns its response even if it cannot be stored', async () => {
  const { warn, run } = open({ finish: broken });
  expect(await run(async () => ANSWER)).toEqual(ANSWER);
  expect(warn).toHaveBeenCalledOnce();
});

test('a rejected request returns its error even if the Idempotency-Key cannot be freed', async () => {
  const { warn, run } = open({ abandon: broken });
  await expect(run(fail(new AppError('VALIDATION_FAILED')))).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  expect(warn).toHaveBeenCalledOnce();
});

test('a request whose response is too large to send has taken effect, so its Idempotency-Key stays in use', async () => {
  const { calls, run } = open();
  await expect(run(fail(new AppError('RESPONSE_TOO_LARGE')))).rejects.toMatchObject({ code: 'RESPONSE_TOO_LARGE' });
  expect(calls).toEqual(['finish without response']);
});

test('nothing runs again if the response wasn’t stored', async () => {
  const started = vi.fn(async () => ANSWER);
  const { run } = open({ begin: async () => 'not_stored' });
  await expect(run(started)).rejects.toMatchObject({ code: 'IDEMPOTENCY_RESPONSE_NOT_STORED', status: 409 });
  expect(started).not.toHaveBeenCalled();
});

test('nothing runs if it is unknown whether it ran before', async () => {
  const started = vi.fn(async () => ANSWER);
  await expect(open({ begin: broken }).run(started)).rejects.toThrow('the database is gone');
  expect(started).not.toHaveBeenCalled();
});

test('work that outlasts the request doesn’t mark its Idempotency-Key', async () => {
  const mark = vi.fn(async () => {});
  const tx = { $executeRawUnsafe: async () => 1 };
  const { run } = open({ mark });
  let later: (() => Promise<void>) | undefined;
  await run(async () => {
    const { beforeCommit } = currentRequest()!;
    await beforeCommit!(tx);
    later = () => beforeCommit!(tx);
    return ANSWER;
  });
  await later!();
  expect(mark).toHaveBeenCalledOnce();
});

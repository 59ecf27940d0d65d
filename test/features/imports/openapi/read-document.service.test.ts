import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { createReadDocument, type Sender } from '../../../../src/features/imports/openapi/read-document.ts';
import { apiWith, EXPANDING, getting, LARGE, PETS_30 } from '../documents.ts';

/** The sender of a document, whose request never ends. */
const sender = (more: Partial<Sender> = {}): Sender => ({
  pointer: '/document',
  accountId: 'usr_a',
  signal: new AbortController().signal,
  ...more,
});

/** Enough time to read a document on a busy machine. */
const PATIENT = { operationMilliseconds: 150_000 };
const PROGRAM = resolve(import.meta.dirname, '../../../../src/features/imports/openapi/openapi-reader.ts');
const DESCRIPTORLESS_PROCESS = resolve(import.meta.dirname, 'descriptorless-process.ts');
const RECORD_MODULES = resolve(import.meta.dirname, '../../../support/loaded-modules.ts');

describe('a process that reads a document', () => {
  test('returns what is in it, or the reason with the field it came from', async () => {
    const read = createReadDocument(PATIENT);
    expect((await read(PETS_30, sender())).operations).toHaveLength(3);
    await expect(read('hello', sender({ pointer: '/url' }))).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      fields: [{ pointer: '/url', message: 'Must be an OpenAPI document in JSON or YAML.' }],
    });
  });

  test('is stopped when its time is up', async () => {
    const read = createReadDocument({ operationMilliseconds: 0 });
    const anchors = Array.from({ length: 300_000 }, (_, index) => `  - &a${index} x`).join('\n');
    await expect(read(`openapi: 3.1.0\nx:\n${anchors}`, sender())).rejects.toMatchObject({
      fields: [
        { pointer: '/document', message: 'The document takes too long to read. Split it into smaller documents.' },
      ],
    });
  });

  test('is stopped when it needs too much memory', async () => {
    const read = createReadDocument({ ...PATIENT, heapMegabytes: 16 });
    const list = Array.from({ length: 1_500_000 }, () => '{}').join(',');
    await expect(read(`{"openapi":"3.1.0","x":[${list}]}`, sender())).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      fields: [{ message: 'Reading the document takes too much memory. Split it into smaller documents.' }],
    });
  });

  test('writes only the reason if a small document would become a large one', async () => {
    const message =
      'The document is larger than 16 MB after its references are expanded. Split it into smaller documents.';
    const program = spawn(process.execPath, [PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] });
    program.stdin.end(EXPANDING);
    const output = await text(program.stdout);
    expect(output.length).toBeLessThan(1_000);
    expect(JSON.parse(output)).toEqual({ message });
    await expect(createReadDocument(PATIENT)(EXPANDING, sender({ pointer: '/url' }))).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      fields: [{ pointer: '/url', message }],
    });
  });

  test('reads a large API whole', async () => {
    const { operations, problems } = await createReadDocument(PATIENT)(LARGE, sender());
    const whole = operations.filter(({ inputSchema, exampleResponse }) => inputSchema && exampleResponse);
    expect(whole).toHaveLength(1_000);
    expect(problems).toEqual([]);
  });

  test('is stopped when it writes too much', async () => {
    const read = createReadDocument({ ...PATIENT, outputBytes: 100 });
    await expect(read(PETS_30, sender())).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      fields: [{ message: 'Reading the document takes too much memory. Split it into smaller documents.' }],
    });
  });

  test('is stopped when its request ends', async () => {
    const read = createReadDocument(PATIENT);
    const controller = new AbortController();
    const reading = read(PETS_30, sender({ signal: controller.signal }));
    controller.abort();
    await expect(reading).rejects.toMatchObject({ code: 'UNAVAILABLE', retryable: true });
    expect((await read(PETS_30, sender())).operations).toHaveLength(3);
  });

  // Whoever opens many connections could otherwise end the service.
  test("can't be started without file descriptors, which ends only the request", async () => {
    const limited = ['-c', 'ulimit -n 128 && exec "$0" "$@"', process.execPath, DESCRIPTORLESS_PROCESS];
    const program = spawn('/bin/sh', limited, { stdio: ['ignore', 'pipe', 'inherit'] });
    expect(JSON.parse(await text(program.stdout))).toEqual(['UNAVAILABLE', 1]);
  });

  test('doesn’t wait for another account’s documents', async () => {
    const read = createReadDocument(PATIENT);
    const document = apiWith({ '/a': getting('A') });
    const greedy = Promise.allSettled(Array.from({ length: 30 }, () => read(document, sender())));
    expect((await read(document, sender({ accountId: 'usr_b' }))).operations).toHaveLength(1);
    const refused = (await greedy).flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    expect(refused).toHaveLength(26);
    for (const reason of refused) expect(reason).toMatchObject({ code: 'RATE_LIMITED', retryable: true });
  });

  test('loads only what it needs, because a busy machine would take seconds to load the rest', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tollgate-reader-'));
    try {
      const file = join(folder, 'modules');
      const program = spawn(process.execPath, ['--import', RECORD_MODULES, PROGRAM], {
        env: { LOADED_MODULES_FILE: file },
        stdio: ['pipe', 'ignore', 'inherit'],
      });
      program.stdin.end(PETS_30);
      await once(program, 'close');
      const packages = (await readFile(file, 'utf8')).matchAll(/node_modules\/((?:@[^/]+\/)?[^/]+)/g);
      expect(new Set([...packages].map(([, name]) => name))).toEqual(new Set(['js-yaml']));
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

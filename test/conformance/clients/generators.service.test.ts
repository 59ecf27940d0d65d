import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { WALLET } from '../../support/resources.ts';
import { ADAPTER, GENERATED, JOURNEY, RIGHT, WRONG } from './generators/journeys.ts';
import { type Collection, openCollection } from './generators/postman.ts';
import { installClients } from './installed.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const TIMEOUT_MILLISECONDS = 600_000;
const run = promisify(execFile);

let app: TestApp;
let alice: TestUser;
let work: string;
let errors: { message: string; file: string; line: number }[];

beforeAll(async () => {
  const installed = await installClients();
  app = await startTestApp({ env: { ROLES: 'api' } });
  alice = await app.user('alice');
  work = await mkdtemp(join(tmpdir(), 'tollgate-generators-'));
  await symlink(join(installed, 'node_modules'), join(work, 'node_modules'));
  const url = `${app.url}/api/openapi.json`;
  await writeFile(join(work, 'openapi.json'), await (await fetch(url)).text());
  await cp(join(import.meta.dirname, 'generators/generate.mjs'), join(work, 'generate.mjs'));
  await run(process.execPath, ['generate.mjs', url], { cwd: work });
  await writePrograms();
  await compile();
}, TIMEOUT_MILLISECONDS);

afterAll(async () => {
  await app?.stop();
  if (work) await rm(work, { recursive: true, force: true });
});

async function writePrograms(): Promise<void> {
  await writeFile(join(work, 'contract.ts'), ADAPTER);
  for (const [name, { adapter, types }] of Object.entries(GENERATED)) {
    await writeFile(join(work, `${name}-adapter.ts`), adapter);
    await writeFile(join(work, `${name}-journey.ts`), JOURNEY.replace('./adapter', `./${name}-adapter`));
    await writeFile(join(work, `${name}-right.ts`), [types, ...RIGHT, 'export {};'].join('\n'));
    await writeFile(join(work, `${name}-wrong.ts`), [types, ...WRONG, 'export {};'].join('\n'));
  }
  const compilerOptions = {
    target: 'es2024',
    module: 'preserve',
    moduleResolution: 'bundler',
    lib: ['es2024', 'dom', 'dom.iterable'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    resolveJsonModule: true,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
  };
  const files = Object.keys(GENERATED).flatMap((name) => [
    `${name}-journey.ts`,
    `${name}-right.ts`,
    `${name}-wrong.ts`,
  ]);
  await writeFile(join(work, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
}

/** Compiles everything. The compiler's exit code isn't 0, because some files have errors. */
async function compile(): Promise<void> {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { stdout } = await run(process.execPath, [tsc, '--pretty', 'false'], {
    cwd: work,
    maxBuffer: 64 * 1024 * 1024,
  }).catch((error: { stdout: string }) => error);
  errors = [...stdout.matchAll(/^(\S+)\((\d+),\d+\): error .*/gm)].map(([message, file, line]) => ({
    message,
    file: file!,
    line: Number(line),
  }));
}

test('all generated code compiles in strict mode', () => {
  const wrong = Object.keys(GENERATED).map((name) => `${name}-wrong.ts`);
  expect(errors.filter(({ file }) => !wrong.includes(file)).map(({ message }) => message)).toEqual([]);
});

test.each(['hey-api', 'hey-api-axios'])(
  '%s gives no type a number because another one has its name',
  async (folder) => {
    const types = await readFile(join(work, folder, 'types.gen.ts'), 'utf8');
    const names = [...types.matchAll(/^export type (\w+)/gm)].map(([, name]) => name!);
    expect(names).toContain('CreateWebhookResponse');
    expect(names.filter((name) => /\d$/.test(name) && names.includes(name.replace(/\d+$/, '')))).toEqual([]);
  },
);

describe.each(Object.keys(GENERATED))('%s', (name) => {
  test.each(WRONG.map((statement, index) => ({ statement, line: index + 2 })))(
    'does not compile: $statement',
    ({ line }) => {
      const lines = errors.filter(({ file }) => file === `${name}-wrong.ts`).map((error) => error.line);
      expect(lines).toContain(line);
    },
  );

  test(
    'creates, lists, changes, and deletes on the server that the document names, and reads a problem',
    async () => {
      const rolldown = join(ROOT, 'node_modules/rolldown/bin/cli.mjs');
      const bundle = ['--platform', 'node', '--format', 'esm', '--file', `${name}.mjs`];
      await run(process.execPath, [rolldown, `${name}-journey.ts`, ...bundle], { cwd: work });
      const env = { PATH: process.env.PATH, TOKEN: alice.token };
      const { stdout } = await run(process.execPath, [`${name}.mjs`], { cwd: work, env });
      expect(JSON.parse(stdout)).toEqual({
        secret: 'whsec_',
        active: ['Books'],
        disabled: [],
        renamed: 'Accounting',
        removed: 204,
        left: [],
        problem: expect.objectContaining({
          code: 'VALIDATION_FAILED',
          errors: [{ pointer: '/name', message: 'Must be at most 60 characters.' }],
        }),
      });
    },
    TIMEOUT_MILLISECONDS,
  );
});

test('Postman sends its requests to the server that the document names', async () => {
  const collection = JSON.parse(await readFile(join(work, 'postman.json'), 'utf8')) as Collection;
  expect(collection.variable).toContainEqual(expect.objectContaining({ key: 'baseUrl', value: app.url }));
  const send = openCollection(collection, alice.token);
  const project = await send('Create a project', {}, { name: 'Weather', walletAddress: WALLET });
  expect(project.status).toBe(201);
  const { id: projectId } = project.body as { id: string };
  const webhook = { name: 'Books', url: 'https://books.example/', eventTypes: ['*'] };
  const created = await send('Create a webhook; `secret` is shown only once', { projectId }, webhook);
  const { id: webhookId } = created.body as { id: string };
  const saved = await send('Create a webhook; `secret` is shown only once', { projectId });
  expect([saved.status, saved.headers.get('idempotency-replayed')]).toEqual([201, null]);
  await send('Delete a webhook', { projectId, webhookId: (saved.body as { id: string }).id });
  const listed = await send('List a project’s webhooks', { projectId, isActive: 'true', limit: '5' });
  expect(listed.body).toMatchObject({ data: [{ id: webhookId, name: 'Books' }] });
  const ids = { projectId, webhookId };
  expect((await send('Update a webhook', ids, { name: 'Accounting' })).body).toMatchObject({ name: 'Accounting' });
  expect(await send('Update a webhook', ids, { url: '' })).toMatchObject({
    status: 422,
    body: { code: 'VALIDATION_FAILED' },
  });
  expect((await send('Delete a webhook', ids)).status).toBe(204);
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { apiWith, getting } from '../features/imports/documents.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { runCli } from '../support/cli.ts';
import { startReceiver } from '../support/receiver.ts';
import { createEndpoint, createProject, type Resource } from '../support/resources.ts';

let app: TestApp;
let user: TestUser;
let folder: string;
let file: string;
let base: string;
let env: Record<string, string>;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  user = await app.user('alice', 'ENTERPRISE');
  folder = await mkdtemp(join(tmpdir(), 'tollgate-import-'));
  file = join(folder, 'openapi.json');
  await writeFile(file, apiWith({ '/a/{id}': getting('A'), '/b': getting('B'), '/bad/': getting('Bad') }));
});
afterAll(async () => {
  await app?.stop();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  const project = await createProject(user);
  base = project.base;
  env = { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: user.token, TOLLGATE_PROJECT: project.id };
});

async function endpoints(): Promise<Resource[]> {
  return (await user.rest<{ data: Resource[] }>('GET', `${base}/endpoints?limit=100`)).body.data.reverse();
}

test('import shows what it will do, asks for confirmation, and creates and updates endpoints', async () => {
  await createEndpoint(user, base, { path: '/b', upstreamUrl: 'https://api.example.com/b', description: 'Old' });
  const { code, stdout, stderr } = await runCli(['import', file, '--price', '0.02'], env, 'y\n');
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^CREATED {2}\/a\/:id {2}ep_\w+\nUPDATED {2}\/b {2}ep_\w+\n$/),
  });
  expect(stderr).toContain('Not imported: /paths/~1bad~1  Must not contain empty segments');
  expect(stderr).toContain('NEW      /a/:id  GET  → https://api.example.com/a/:id  $0.02');
  expect(stderr).toContain('description: "Old" → "B"');
  expect(stderr).toContain('Create 1 endpoint and update 1? [y/N]');
  expect(await endpoints()).toMatchObject([
    { path: '/b', description: 'B', priceUsd: '0.01' },
    { path: '/a/:id', description: 'A', priceUsd: '0.02' },
  ]);
  expect(await runCli(['import', file, '--yes'], env)).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining('There is nothing to import: the endpoints already match the document.'),
  });
});

test('import prints control characters in a document as escapes, so that they cannot change the terminal', async () => {
  const hostile = join(folder, 'hostile.json');
  await writeFile(hostile, apiWith({ '/\u001b[2J': getting('A'), '/b': { get: { summary: '\u009b1mB' } } }));
  const { code, stderr } = await runCli(['import', hostile, '--price', '0.02', '--dry-run'], env);
  expect(code).toBe(0);
  expect(stderr).toContain(String.raw`Not imported: /paths/~1\u001b[2J  Must not contain spaces`);
  expect(stderr).not.toMatch(/[^\n\P{Cc}]/u);
});

test('import changes nothing without a confirmation or a price, or with --dry-run', async () => {
  expect(await runCli(['import', file, '--price', '0.02'], env, 'n\n')).toMatchObject({ code: 2, stdout: '' });
  expect(await runCli(['import', file, '--yes'], env)).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('Set the price of 2 endpoints with --price, for example, --price 0.01.'),
  });
  const { code, stdout } = await runCli(['import', file, '--dry-run', '--json'], env);
  const lines = stdout.trim().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { status: 'NEW', path: '/a/:id', methods: ['GET'], priceUsd: null },
    { status: 'NEW', path: '/b' },
  ]);
  expect(code).toBe(0);
  expect(await endpoints()).toEqual([]);
});

test('import takes a URL and another upstream URL, and prints results as JSON', async () => {
  await using server = await startReceiver(() => ({ body: apiWith({ '/a': getting('A') }) }));
  const upstream = ['--upstream-url', 'https://v2.example.com'];
  const { code, stdout } = await runCli(['import', server.url, '--price', '1', '--yes', '--json', ...upstream], env);
  expect(code).toBe(0);
  const [{ id, upstreamUrl }] = (await endpoints()) as [Resource];
  expect(upstreamUrl).toBe('https://v2.example.com/a');
  expect(JSON.parse(stdout)).toEqual({ path: '/a', methods: ['GET'], status: 'CREATED', endpointId: id, error: null });
});

test('import imports all endpoints, even if there are too many for one request', async () => {
  const many = join(folder, 'many.json');
  const paths = Array.from({ length: 120 }, (_, index) => [`/p${index}`, getting('P')]);
  await writeFile(many, apiWith(Object.fromEntries(paths)));
  const { code, stdout } = await runCli(['import', many, '--price', '1', '--yes'], env);
  expect(code).toBe(0);
  expect(stdout.match(/^CREATED/gm)).toHaveLength(120);
});

test('import exits with 1 if an endpoint fails, and 2 if the file can’t be read', async () => {
  expect(
    await runCli(['import', file, '--price', '0.01', '--yes', '--upstream-url', 'https://x.example.com/:no'], env),
  ).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('FAILED   /b  Invalid upstreamUrl: contains ":no"'),
  });
  expect(await runCli(['import', join(folder, 'none.json')], env)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('does not exist.'),
  });
  const broken = join(folder, 'broken.yaml');
  await writeFile(broken, 'openapi: 3.1.0\npaths: {}\npaths: {}\n');
  expect(await runCli(['import', broken], env)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('not valid YAML: duplicated mapping key (line 3).'),
  });
});

test('import --help shows examples', async () => {
  const { stdout } = await runCli(['import', '--help']);
  expect(stdout).toContain('tollgate import openapi.yaml --price 0.01');
});

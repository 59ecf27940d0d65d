import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { runCli, startCli } from '../support/cli.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createEndpoint, createProject } from '../support/resources.ts';

let app: TestApp;
let user: TestUser;
let folder: string;
let env: Record<string, string>;
let ids: string[];
let receiver: Receiver;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  user = await app.user('alice', 'ENTERPRISE');
  receiver = await startReceiver();
  folder = await mkdtemp(join(tmpdir(), 'tollgate-export-'));
  const project = await createProject(user);
  for (let count = 0; count < 3; count++) await createEndpoint(user, project.base);
  env = { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: user.token, TOLLGATE_PROJECT: project.id };
  const { body } = await user.rest<{ data: { id: string }[] }>('GET', `${project.base}/events`);
  ids = body.data.map(({ id }) => id).reverse();
});
afterAll(async () => {
  await receiver?.close();
  await app?.stop();
  await rm(folder, { recursive: true, force: true });
});

test('export writes only the file to standard output, and its size to standard error', async () => {
  const csv = await runCli(['export', 'events'], env);
  expect({ code: csv.code, stderr: csv.stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/^Exported events: \d+ bytes in \d+ s\.\n$/),
  });
  expect(parse<{ id: string }>(csv.stdout, { columns: true }).map(({ id }) => id)).toEqual(ids);
  for (const option of [['--format', 'jsonl'], ['--json']]) {
    const { stdout } = await runCli(['export', 'events', ...option], env);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).id),
    ).toEqual(ids);
  }
});

test('export passes filters to the list', async () => {
  const args = [
    'export',
    'audit-log',
    '--format',
    'jsonl',
    '--filter',
    'action=project.created',
    'action=endpoint.updated',
  ];
  const { code, stdout } = await runCli(args, env);
  expect({ code, lines: stdout.trimEnd().split('\n').length }).toEqual({ code: 0, lines: 1 });
  const none = await runCli(['export', 'payments', '--from', '2h', '--to', '1h'], env);
  expect(none).toMatchObject({ code: 0, stdout: expect.stringMatching(/^id,[\w,() ]+\r\n$/) });
});

test('export writes a file', async () => {
  const path = join(folder, 'events.csv');
  expect(await runCli(['export', 'events', '--output', path], env)).toMatchObject({ code: 0, stdout: '' });
  expect(parse(await readFile(path, 'utf8'))).toHaveLength(4);
  const failed = await runCli(['export', 'events', '--output', join(folder, 'missing', 'events.csv')], env);
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('Cannot write: ENOENT') });
  expect(await readdir(folder)).toEqual(['events.csv']);
});

test('export --resume continues a file that was cut off, and starts one that is missing', async () => {
  const path = join(folder, 'resumed.csv');
  const resume = ['export', 'events', '--resume', path];
  expect(await runCli(resume, env)).toMatchObject({ code: 0, stdout: '' });
  const whole = await readFile(path);
  expect(parse(whole)).toHaveLength(4);
  // In the middle of the last row.
  await writeFile(path, whole.subarray(0, -20));
  receiver.handle((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/csv' });
    response.write('evt_cut', () => response.destroy());
    return undefined;
  });
  expect(await runCli(resume, { ...env, TOLLGATE_URL: receiver.url })).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('Run the command again to continue it.'),
  });
  expect(await runCli(resume, env)).toMatchObject({ code: 0, stdout: '' });
  expect(await readFile(path, 'utf8')).toBe(whole.toString());
  await rm(path);
});

test('an export that is cut off fails, and leaves no file', async () => {
  receiver.handle((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/csv' });
    response.write('id\r\nevt_1\r\n', () => response.destroy());
    return undefined;
  });
  const cut = { ...env, TOLLGATE_URL: receiver.url };
  const path = join(folder, 'cut.csv');
  const { code, stderr } = await runCli(['export', 'events', '--output', path], cut);
  expect({ code, stderr }).toEqual({
    code: 3,
    stderr: expect.stringContaining('The export was cut off and is incomplete.'),
  });
  expect(await readdir(folder)).not.toContain('cut.csv');
  expect(await readdir(folder)).not.toContain('cut.csv.part');
  expect(await runCli(['export', 'events'], cut)).toMatchObject({ code: 3, stdout: 'id\r\nevt_1\r\n' });
});

test('an export that takes a long time says so, and Ctrl-C ends it without leaving a file', async () => {
  receiver.handle((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/csv' });
    response.write('id\r\n');
    return undefined;
  });
  const path = join(folder, 'interrupted.csv');
  const cli = startCli(['export', 'events', '--output', path], { ...env, TOLLGATE_URL: receiver.url });
  await expect.poll(() => readdir(folder)).toContain('interrupted.csv.part');
  // Standard error isn't a terminal here, so the size isn't shown.
  await cli.waitFor(/^Exporting events…$/m);
  cli.signal('SIGINT');
  expect((await cli.ended).code).toBe(130);
  expect(await readdir(folder)).not.toContain('interrupted.csv.part');
});

test.each([
  [['export', 'things'], 2, 'Cannot export "things". Use one of payments, customers'],
  [['export', 'events', '--format', 'xml'], 2, 'Allowed choices are csv, jsonl'],
  [['export', 'revenue', '--resume', 'revenue.csv'], 2, 'Revenue is exported in one step'],
  [['export', 'events', '--resume', 'a.csv', '--output', 'b.csv'], 2, '--output'],
  [['export', 'events', '--resume', 'package.json'], 2, 'package.json is not an export in CSV.'],
  [['export', 'constructor'], 2, 'Cannot export "constructor".'],
  [['export', 'events', '--filter', 'status'], 2, '--filter must have the form name=value'],
  [['export', 'payments', '--from', 'soon'], 2, '--from'],
  [['export', 'payments', '--filter', 'payer=nobody'], 4, 'Invalid payer: must be an EVM address'],
  [['export', 'payments', '--filter', 'colour=red'], 4, 'Unknown parameter `colour`.'],
  [['export', 'payments', '--filter', 'constructor=red'], 4, 'Unknown parameter `constructor`.'],
  [['export', 'payments', '--project', 'proj_1'], 7, 'Not found'],
  [['export', 'payments', '--token', 'wrong'], 5, 'TOLLGATE_TOKEN'],
  [['export', 'payments', '--url', 'http://127.0.0.1:1'], 3, 'Cannot reach http://127.0.0.1:1'],
])('tollgate %j fails with exit code %i', async (args, code, message) => {
  expect(await runCli(args, env)).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
});

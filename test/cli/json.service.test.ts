import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LISTS } from '../../src/cli/lists.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { type CliResult, runCli, startCli } from '../support/cli.ts';
import { commandTree, wordsOf } from '../support/command-tree.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createEndpoint, createProject, createWebhook } from '../support/resources.ts';

let app: TestApp;
let user: TestUser;
let receiver: Receiver;
let folder: string;
let base: string;
let env: Record<string, string>;
/** Maps the IDs in examples to IDs that exist. */
let ids: Record<string, string>;

const EXAMPLE_ID = '_01jc9x2v5qe3w8k4m6n7p9r0st';
const OPENAPI = { openapi: '3.1.0', servers: [{ url: 'https://api.example.com' }], paths: { '/map': { get: {} } } };

beforeAll(async () => {
  app = await startTestApp({ delivery: { retryScheduleSeconds: [3600] } });
  user = await app.user('alice', 'ENTERPRISE');
  receiver = await startReceiver();
  folder = await mkdtemp(join(tmpdir(), 'tollgate-json-'));
  for (const name of ['openapi.json', 'openapi.yaml']) await writeFile(join(folder, name), JSON.stringify(OPENAPI));
  const project = await createProject(user);
  base = project.base;
  const webhook = await createWebhook(user, base, { url: receiver.url });
  env = { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: user.token, TOLLGATE_PROJECT: project.id, DATA_DIR: app.dataDir };
  const { stdout } = await runCli(['trigger', 'payment.settled', '--json'], env);
  ids = { proj: project.id, wh: webhook.id, dlv: JSON.parse(stdout).id };
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await receiver?.close();
  await app?.stop();
});

/** A command line with IDs that exist, and files in the test's folder. */
const real = (words: string[]) =>
  words.map((word) =>
    word
      .replace(new RegExp(`([a-z]+)${EXAMPLE_ID}`), (all, prefix: string) => ids[prefix] ?? all)
      .replace(/^openapi\.(json|yaml)$/, (name) => join(folder, name)),
  );

/** Runs a command until it ends. Stops a streaming command once its output matches `until`. */
async function run(words: string[], until?: RegExp): Promise<CliResult> {
  if (!until) return runCli(words, env, 'y\n');
  const cli = startCli(words, env);
  await cli.waitFor(/Press Ctrl-C/);
  await createEndpoint(user, base);
  await cli.waitFor(until);
  cli.signal('SIGINT');
  return cli.ended;
}

const WALLET = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

/** How to run each command with --json, and the fields in its output. A stream ends after `until`. */
type Case = { words: string[]; fields: string[]; until?: RegExp };
const CASES: Record<string, Case> = {
  listen: { words: ['listen'], fields: ['id', 'type', 'data'], until: /"type":"endpoint.created"/ },
  trigger: { words: ['trigger', 'payment.failed'], fields: ['id', 'status', 'statusCode'] },
  'deliveries tail': { words: ['deliveries', 'tail'], fields: ['id', 'status', 'eventType'], until: /"SUCCEEDED"/ },
  'deliveries show': { words: ['deliveries', 'show', `dlv${EXAMPLE_ID}`], fields: ['id', 'attempts', 'explanation'] },
  'deliveries resend': { words: ['deliveries', 'resend', `dlv${EXAMPLE_ID}`], fields: ['id', 'status'] },
  replay: { words: ['replay', '--status', 'succeeded', '--yes'], fields: ['id', 'status', 'total'] },
  import: { words: ['import', 'openapi.json', '--price', '0.01', '--yes'], fields: ['path', 'status', 'endpointId'] },
  ...Object.fromEntries(
    [['show'], ['limit', '--requests', '100'], ['deny', WALLET], ['allow', WALLET]].map((words) => [
      `buyers ${words[0]}`,
      { words: ['buyers', ...words], fields: ['allowedWallets', 'deniedWallets', 'period', 'maxRequests'] },
    ]),
  ),
  token: { words: ['token', '--sub', 'ci'], fields: ['token'] },
  whoami: { words: ['whoami'], fields: ['user', 'tier', 'limits'] },
  search: { words: ['search', 'hooks'], fields: ['type', 'id', 'label'] },
  export: { words: ['export', 'deliveries', '--filter', 'status=SUCCEEDED'], fields: ['id', 'status'] },
  ...Object.fromEntries(LISTS.map(({ path }) => [`list ${path}`, { words: ['list', path], fields: ['id'] }])),
};
/** These commands are tested in doctor, members, users, roles/hold, and docs/demo.service.test.ts, which provide what they need. */
const ELSEWHERE = ['doctor', 'demo', 'pay', 'members', 'users', 'hold', 'adopt'];

describe('with --json', () => {
  test('every command that supports it has a case in this file', () => {
    const taking = commandTree().filter(({ command }) => command.options.some(({ long }) => long === '--json'));
    const missing = taking
      .map(({ path }) => path)
      .filter((path) => !CASES[path] && !ELSEWHERE.includes(path.split(' ')[0]!));
    expect(missing).toEqual([]);
  });

  for (const [path, { words, fields, until }] of Object.entries(CASES)) {
    test(`${path} prints only JSON on standard output, in the form that its help promises`, async () => {
      const { code, stdout } = await run([...real(words), '--json'], until);
      expect(code, stdout).toBe(0);
      const lines = stdout.split('\n');
      expect(lines.pop()).toBe('');
      for (const line of lines) for (const field of fields) expect(JSON.parse(line)).toHaveProperty(field);
      const { command } = commandTree().find((each) => each.path === path)!;
      const promised = command.options.find(({ long }) => long === '--json')!.description;
      if (promised.startsWith('print one JSON document')) expect(lines).toHaveLength(1);
    });

    test(`${path} reports an error as one JSON problem on standard error`, async () => {
      const refused = { ...env, TOLLGATE_TOKEN: 'not-a-token', DATA_DIR: join(folder, 'openapi.json') };
      const { code, stdout, stderr } = await runCli([...real(words), '--json'], refused);
      const problem = JSON.parse(stderr.trim().split('\n').at(-1)!);
      expect(stdout).toBe('');
      expect(problem).toMatchObject({ detail: expect.stringMatching(/\S/), exitCode: code, errors: [] });
      expect(code).toBe(path === 'token' ? 1 : 5);
      if (path !== 'token') expect(problem.code).toBe('UNAUTHENTICATED');
    });
  }

  test('parser errors and rejected values are also printed as problems', async () => {
    const unknown = await runCli(['replay', '--json', '--nope'], env);
    expect({ ...unknown, stderr: JSON.parse(unknown.stderr) }).toMatchObject({
      code: 2,
      stdout: '',
      stderr: { code: 'USAGE', detail: "unknown option '--nope'", exitCode: 2 },
    });
    for (const port of ['0', '65536', '99999']) {
      const { code, stderr } = await runCli(['demo', '--json', '--port', port], env);
      expect({ code, problem: JSON.parse(stderr) }).toMatchObject({ code: 2, problem: { code: 'USAGE' } });
    }
    const invalid = await runCli(['replay', '--json', '--dry-run', '--max-per-second', '0'], env);
    expect(invalid.code).toBe(4);
    expect(JSON.parse(invalid.stderr)).toMatchObject({
      code: 'VALIDATION_FAILED',
      errors: [{ pointer: '/maxPerSecond', message: 'Must be at least 1.' }],
    });
  });

  test.each(['', 'n\n'])('a question that gets the reply %j is not on the same line as the problem', async (reply) => {
    const { code, stderr } = await runCli(['members', 'transfer', 'bob@example.com', '--json'], env, reply);
    const [question, problem] = stderr.split('\n');
    expect({ code, question }).toEqual({ code: 2, question: expect.stringContaining('bob@example.com? [y/N]') });
    expect(JSON.parse(problem!)).toMatchObject({ code: 'USAGE', exitCode: 2 });
  });

  test('too many requests and a missing permission have their own exit codes', async () => {
    for (const [code, exitCode] of [
      ['RATE_LIMITED', 8],
      ['FORBIDDEN', 6],
    ] as const) {
      await using service = await startReceiver(() => ({
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          errors: [{ message: 'No.', extensions: { code, retryable: code === 'RATE_LIMITED' } }],
        }),
      }));
      const { code: exit, stderr } = await runCli(['trigger', 'payment.settled', '--json'], {
        ...env,
        TOLLGATE_URL: service.url,
      });
      expect({ exit, problem: JSON.parse(stderr) }).toMatchObject({ exit: exitCode, problem: { code, exitCode } });
    }
  });
});

/** The commands with examples that are run. All others need a sandbox or another shell, or never end. */
const RUN: Record<string, RegExp | undefined> = {
  trigger: undefined,
  'deliveries show': undefined,
  'deliveries resend': undefined,
  replay: undefined,
  token: undefined,
  completion: undefined,
  mcp: undefined,
  search: undefined,
  list: undefined,
  ...Object.fromEntries(LISTS.map(({ path }) => [`list ${path}`, undefined])),
  'deliveries tail': /endpoint\.created/,
};
const examples = commandTree().flatMap(({ path, examples: all }) =>
  path in RUN ? all.map((example) => ({ path, example })) : [],
);

test.each(examples)('the example "$example" works', async ({ path, example }) => {
  const filtered = example.includes('--event-type payment.settled') && path === 'deliveries tail';
  const words = real(wordsOf(example));
  const until = filtered ? /Press Ctrl-C/ : RUN[path];
  const { code, stdout, stderr } = await run(words, until);
  expect({ example, code, stderr: code === 0 ? '' : stderr + stdout }).toEqual({ example, code: 0, stderr: '' });
});

test('the examples of import work', async () => {
  await using site = await startReceiver(() => ({ body: JSON.stringify(OPENAPI) }));
  const found = commandTree().find(({ path }) => path === 'import')!;
  for (const example of found.examples) {
    const words = real(wordsOf(example)).map((word) => word.replace('https://api.example.com/openapi.json', site.url));
    const { code, stderr } = await runCli(words, env, 'y\n');
    expect({ example, code, stderr: code === 0 ? '' : stderr }).toEqual({ example, code: 0, stderr: '' });
  }
});

test('the examples of listen work', async () => {
  await using local = await startReceiver();
  const found = commandTree().find(({ path }) => path === 'listen')!;
  for (const example of found.examples) {
    const words = real(wordsOf(example)).map((word) => word.replace('localhost:3000/hook', `${local.url}/hook`));
    const isEndless = !words.includes('--print-secret');
    const cli = startCli(words, env);
    if (isEndless) {
      await cli.waitFor(/Press Ctrl-C/);
      cli.signal('SIGINT');
    }
    expect({ example, ...(await cli.ended) }).toMatchObject({ code: 0 });
  }
});

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installClients } from '../conformance/clients/installed.ts';
import { INHERITED } from '../support/inherited.ts';
import { EXPECTED, openStage, writeProgram } from './runtime-program.ts';

const MAX_BYTES = 30_000;
const MAIN = `
import process from 'node:process';
import { use } from './program.mjs';
console.log(JSON.stringify(await use(JSON.parse(process.env.INPUT))));
process.exit();
`;

const run = promisify(execFile);

/** The command for each runtime, with paths in the folder of the installed clients. */
const RUNTIMES: Readonly<Record<string, { program: string; args: string[] }>> = {
  Node: { program: process.execPath, args: [] },
  Deno: {
    program: 'node_modules/@deno/linux-x64-glibc/deno',
    args: ['run', '--no-config', '--allow-net', '--allow-env'],
  },
  Bun: { program: 'node_modules/@oven/bun-linux-x64-baseline/bin/bun', args: [] },
};

let folder: string;
let installed: string;
let stage: Awaited<ReturnType<typeof openStage>>;

beforeAll(async () => {
  installed = await installClients();
  folder = await mkdtemp(join(tmpdir(), 'tollgate-runtimes-'));
  await writeProgram(folder);
  await writeFile(join(folder, 'main.mjs'), MAIN);
  stage = await openStage();
}, 600_000);
afterAll(async () => {
  await stage?.close();
  await rm(folder, { recursive: true, force: true });
});

test('the minified SDK is smaller than 30 KB', async () => {
  const { size } = await stat(join(folder, 'sdk.mjs'));
  expect(size).toBeGreaterThan(10_000);
  expect(size).toBeLessThan(MAX_BYTES);
});

test.for(Object.keys(RUNTIMES))(
  'the SDK sends requests, follows a feed, and verifies a webhook in %s',
  async (name, { skip }) => {
    const { program, args } = RUNTIMES[name]!;
    const path = join(program.startsWith('/') ? '/' : installed, program);
    skip(!existsSync(path), `${name} has no package for this platform`);
    const env = { ...INHERITED, INPUT: JSON.stringify(await stage.input()), NO_COLOR: '1' };
    const { stdout } = await run(path, [...args, 'main.mjs'], { cwd: folder, env });
    expect(JSON.parse(stdout)).toEqual(EXPECTED);
  },
);

import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { codeBlocks, ROOT, readPage, section } from '../docs/pages.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createKey, createProject } from '../support/resources.ts';

const run = promisify(execFile);
const TSC = join(ROOT, 'node_modules/.bin/tsc');

let app: TestApp;
let alice: TestUser;
/** The code project of someone who has installed the package. */
let folder: string;
let readme: string;

beforeAll(async () => {
  app = await startTestApp();
  alice = await app.user('alice');
  readme = await readPage('packages/sdk/README.md');
  folder = await mkdtemp(join(tmpdir(), 'tollgate-sdk-'));
  const installed = join(folder, 'node_modules/@tollgate/sdk');
  await mkdir(installed, { recursive: true });
  await cp(join(ROOT, 'packages/sdk/package.json'), join(installed, 'package.json'));
  await run(TSC, ['--project', join(ROOT, 'packages/sdk'), '--outDir', join(installed, 'dist')]);
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await app?.stop();
});

test('the first example in the SDK’s README runs with the built package', async () => {
  const { id, base } = await createProject(alice);
  const { key } = await createKey(alice, base);
  const [example] = codeBlocks(readme, 'ts');
  await writeFile(join(folder, 'example.ts'), example!);
  const env = { ...process.env, TOLLGATE_URL: app.url, TOLLGATE_API_KEY: key, TOLLGATE_PROJECT: id };
  const { stdout } = await run(process.execPath, ['example.ts'], { cwd: folder, env });
  expect(stdout).toBe('/weather 0.02\n');
});

test('all examples in the SDK’s README compile against the built package’s declarations', async () => {
  const examples = codeBlocks(readme, 'ts');
  expect(examples.length).toBeGreaterThan(4);
  const declarations = "import { Tollgate } from '@tollgate/sdk';\ndeclare const tollgate: Tollgate;\n";
  const files = examples.map((example, index) => ({
    path: join(folder, `readme-${index}.ts`),
    text: `${index === 0 ? '' : `${declarations}declare function save(cursor: string | undefined): void;\n`}${example}`,
  }));
  for (const { path, text } of files) await writeFile(path, text);
  const options = ['--noEmit', '--strict', '--target', 'es2024', '--lib', 'es2024,dom', '--module', 'nodenext'];
  const types = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types'), '--ignoreConfig'];
  const { stdout } = await run(TSC, [...options, ...types, ...files.map(({ path }) => path)], { cwd: folder }).catch(
    (error: { stdout: string }) => error,
  );
  expect(stdout).toBe('');
});

test('the SDK’s README lists every method', async () => {
  const { OPERATIONS, LIVE_FIELDS } = await import('../../packages/sdk/src/generated.ts');
  const rows = Object.entries(OPERATIONS).map(([name, methods]) => {
    const names = [...Object.keys(methods), ...(name in LIVE_FIELDS ? ['follow'] : [])];
    return `| \`${name}\` | ${names.map((method) => `\`${method}\``).join(' ')} |`;
  });
  for (const row of rows) expect(section(readme, '## Methods')).toContain(row);
});

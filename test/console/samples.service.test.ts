import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXAMPLES } from '../../src/console/pages/graphql/examples.ts';
import { GRAPHQL_SAMPLES } from '../../src/console/pages/graphql/samples.ts';
import { SAMPLES } from '../../src/console/pages/rest/samples.ts';
import { graphqlSamples } from './graphql-samples.ts';
import { fullRequest, REFERENCE } from './openapi-requests.ts';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../..');

describe('the samples of every operation', () => {
  let folder: string;
  beforeAll(async () => {
    // The folder is in the repository, because the compiler looks for Node's types in its parent folders.
    folder = await mkdtemp(join(ROOT, 'node_modules/.cache/samples-'));
    for (const operation of REFERENCE.operations) {
      const request = fullRequest(operation);
      await writeFile(join(folder, `${operation.operationId}.ts`), `${SAMPLES.typescript(request)}\n`);
      await writeFile(join(folder, `${operation.operationId}.py`), `${SAMPLES.python(request)}\n`);
    }
    for (const sample of graphqlSamples(EXAMPLES)) {
      // Without imports, a file is a module only if it exports something, and only modules can use await.
      await writeFile(
        join(folder, `${sample.operationName}.ts`),
        `${GRAPHQL_SAMPLES.typescript(sample)}\nexport {};\n`,
      );
      await writeFile(join(folder, `${sample.operationName}.py`), `${GRAPHQL_SAMPLES.python(sample)}\n`);
    }
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('compile in TypeScript against the SDK', async () => {
    const compilerOptions = {
      // The SDK uses the Web Crypto API.
      lib: ['es2024', 'esnext.array', 'dom', 'dom.iterable'],
      noEmit: true,
      rootDir: '/',
      noUnusedLocals: true,
      paths: { '@tollgate/sdk': [join(ROOT, 'packages/sdk/src/index.ts')] },
    };
    const config = { extends: join(ROOT, 'tsconfig.json'), compilerOptions, include: ['*.ts'], exclude: [] };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
    expect(await outputOf(join(ROOT, 'node_modules/.bin/tsc'), ['--project', folder])).toBe('');
  });

  test('compile in Python, if it is installed', async ({ skip }) => {
    const hasPython = await run('python3', ['--version']).then(
      () => true,
      () => false,
    );
    if (!hasPython) skip('python3 is not installed');
    expect(await outputOf('python3', ['-m', 'compileall', '-q', folder])).toBe('');
  });
});

/** A program's output. Most compilers print nothing if there are no errors. */
async function outputOf(program: string, args: string[]): Promise<string> {
  const { stdout, stderr } = await run(program, args).catch((failure: { stdout: string; stderr: string }) => failure);
  return stdout + stderr;
}

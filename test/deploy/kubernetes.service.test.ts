import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { INHERITED } from '../support/inherited.ts';
import { MAIN, NODE } from '../support/programs.ts';
import { environmentOf, WORKLOADS } from './manifests.ts';

let database: TestDatabase;
let folder: string;

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'tollgate-kubernetes-'));
});

afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true });
});

test.each(WORKLOADS)('$metadata.name becomes ready with its settings, and writes no files', async (workload) => {
  const port = await freePort();
  const dataDir = join(folder, 'data');
  const child = spawn(NODE, [MAIN], {
    cwd: folder,
    env: {
      ...INHERITED,
      ...environmentOf(workload),
      // Replaces the placeholders that users fill in, and the values that differ outside a container.
      DATABASE_URL: database.url,
      SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      PORT: String(port),
      HOST: '127.0.0.1',
      DATA_DIR: dataDir,
      DATABASE_POOL_SIZE: '5',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const exit = once(child, 'exit');
  try {
    const statusOf = (path: string) =>
      fetch(`http://127.0.0.1:${port}${path}`).then(
        ({ status }) => status,
        () => (child.exitCode === null ? 'not listening' : output),
      );
    await expect.poll(() => statusOf('/readyz')).not.toBe('not listening');
    expect([await statusOf('/readyz'), await statusOf('/healthz')]).toEqual([200, 200]);
    await expect(access(dataDir)).rejects.toThrow('ENOENT');
  } finally {
    child.kill('SIGTERM');
  }
  expect(await exit).toEqual([0, null]);
});

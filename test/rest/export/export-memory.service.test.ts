import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDevIssuer } from '../../../src/auth/dev-issuer.ts';
import { caller, type TestUser } from '../../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { metricValue, readMetrics } from '../../support/metrics.ts';
import { createProject } from '../../support/resources.ts';
import { type ServiceNode, startServiceNode } from '../../support/service-node.ts';
import { insertEvents, openDownload, readRest } from './download.ts';

/** As JSON Lines, these are 137 MB. */
const COUNT = 42_000;
/** The export of this many events comes first, because code and buffers that stay take memory only once. */
const WARM_UP_COUNT = 4_000;
const MAX_ADDITIONAL_BYTES = 50_000_000;
/** How many rows are read between two looks at the process's memory. */
const SAMPLE_ROWS = 2_000;
const TIMEOUT_MILLISECONDS = 600_000;

let database: TestDatabase;
let dataDir: string;
let sql: pg.Pool;
let node: ServiceNode;
let alice: TestUser;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-export-'));
  database = await createTestDatabase();
  sql = new pg.Pool({ connectionString: database.url, max: 1 });
  const where = { databaseUrl: database.url, dataDir };
  // The heap has Node's default limits, as with `npm start`.
  node = await startServiceNode({ role: 'api', ...where });
  const issuer = await openDevIssuer({ dataDir });
  alice = caller(node.url, 'alice', await issuer.sign({ subject: 'alice', tier: 'ENTERPRISE' }));
});
afterEach(async () => {
  await node?.end('SIGKILL');
  await sql?.end();
  await database?.drop();
  await rm(dataDir, { recursive: true, force: true });
});

/** Returns a hash of the IDs, in order. */
function hashOf(ids: Iterable<string>): string {
  const hash = createHash('sha256');
  for (const id of ids) hash.update(id);
  return hash.digest('hex');
}

test(
  '42,000 large events are exported with 50 MB of additional memory, each of them once and in order',
  async () => {
    const { base, id: projectId } = await createProject(alice);
    const expected = await insertEvents(sql, { projectId, count: COUNT });

    const resident = async () => metricValue(await readMetrics(node.url), 'process_resident_memory_bytes');
    const path = `${base}/events/export?format=jsonl`;
    const warmUp = await openDownload(node, alice, `${path}&after=${expected.at(-WARM_UP_COUNT - 1)}`);
    expect(await readRest(warmUp)).toHaveLength(WARM_UP_COUNT);
    const residentBefore = await resident();
    const response = await openDownload(node, alice, path);
    expect(response.statusCode).toBe(200);
    const hash = createHash('sha256');
    let count = 0;
    let bytes = 0;
    let mostResident = 0;
    response.on('data', (data: Buffer) => {
      bytes += data.length;
    });
    for await (const line of createInterface({ input: response })) {
      hash.update((JSON.parse(line) as { id: string }).id);
      count += 1;
      if (count % SAMPLE_ROWS === 0) {
        mostResident = Math.max(mostResident, await resident());
      }
    }
    expect(count).toBe(COUNT);
    expect(bytes).toBeGreaterThan(2 * MAX_ADDITIONAL_BYTES);
    expect(residentBefore).toBeGreaterThan(0);
    expect(mostResident - residentBefore).toBeLessThan(MAX_ADDITIONAL_BYTES);
    expect(hash.digest('hex')).toBe(hashOf(expected));
    expect(node.isRunning()).toBe(true);
  },
  TIMEOUT_MILLISECONDS,
);

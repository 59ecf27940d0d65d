/**
 * Measures how long queries on a long history take, and shows how PostgreSQL runs them.
 *
 *   npm run bench:history                          10 million attempts in 13 weeks
 *   npm run bench:history -- --attempts 1000000    fewer attempts
 *   npm run bench:history -- --plans               with the plan of each query's slowest statement
 *   npm run bench:history -- --only export         only the questions whose names contain this text
 *   npm run bench:history -- --exported 100000     exports fewer rows
 *
 * Exits with 1 if a query reads a large table or a partition sequentially, or if the statements of a search take longer
 * than 20 ms. At the end, it exports a million payments and deliveries. It also exits with 1 if the process needs more
 * than 50 MB of additional memory for that.
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pino from 'pino';
import { startThrowawayPostgres } from '../../scripts/throwaway-postgres.ts';
import { startApp } from '../../src/app.ts';
import { openDevIssuer } from '../../src/auth/dev-issuer.ts';
import { readConfig } from '../../src/config/config.ts';
import { createRollups } from '../../src/features/delivery-stats/rollups.ts';
import { operatorsEnv } from '../../test/support/operator.ts';
import { openPool } from '../support/open-pool.ts';
import { milliseconds, print, rate } from '../support/table.ts';
import { fillHistory } from './fill.ts';
import { measureExport } from './measure-export.ts';
import { explain, statementsOf } from './plans.ts';
import { type Ask, liveQuestions, operatorQuestions, questionsAbout } from './questions.ts';
import { exportQuestions, isSearch, MAX_SEARCH_MILLISECONDS, searchQuestions } from './search-and-exports.ts';

const RUNS = 15;
/** The lists to export. */
const EXPORTED = [
  { list: 'payments', table: 'Payment' },
  { list: 'deliveries', table: 'Delivery' },
];
const WARM_UP_ROWS = 20_000;
const MAX_EXPORT_BYTES = 50_000_000;

const { values } = parseArgs({
  options: {
    attempts: { type: 'string', default: '10000000' },
    weeks: { type: 'string', default: '13' },
    plans: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    exported: { type: 'string', default: '1000000' },
  },
});

const postgres = await startThrowawayPostgres({
  shared_buffers: '512MB',
  max_wal_size: '8GB',
  maintenance_work_mem: '256MB',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
});
const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-bench-'));
const settings = {
  ...{ NODE_ENV: 'test', PORT: '0', DATA_DIR: dataDir, ROLES: 'api', SANDBOX: 'off' },
  ...operatorsEnv('bench'),
};
const log = pino({ level: 'silent' });
const app = await startApp({ config: readConfig(settings), databaseUrl: postgres.url, log });
const pool = openPool({ connectionString: postgres.url, max: 2 });

try {
  const token = await (await openDevIssuer({ dataDir })).sign({ subject: 'bench', tier: 'ENTERPRISE' });
  const ask = askWith(token);
  const [projectId, otherProjectId] = [await createProject(ask), await createProject(ask)] as const;
  const askWithKey = askWith(await createKey(ask, projectId));

  const startedAt = performance.now();
  const sizes = { attempts: Number(values.attempts), weeks: Number(values.weeks) };
  await fillHistory(pool, { ...sizes, projectId, otherProjectId }, (line) => console.error(line));
  const { rows } = await pool.query(`SELECT pg_size_pretty(pg_database_size(current_database())) AS size,
    (SELECT sum(reltuples) FROM pg_class WHERE relname LIKE 'Attempt\\_week%' AND relkind = 'r') AS attempts`);
  const took = Math.round((performance.now() - startedAt) / 1000);
  console.log(`${rate(Number(rows[0].attempts))} attempts, ${rows[0].size}, filled in ${took} s`);
  const countingSince = performance.now();
  await countEverything();
  console.log(`deliveries counted in ${Math.round((performance.now() - countingSince) / 1000)} s\n`);
  await pool.query('VACUUM (ANALYZE)');

  const lines: string[][] = [];
  const plans: string[] = [];
  const failures: string[] = [];
  const questions = [
    ...(await questionsAbout(pool, projectId, ask, '')),
    ...liveQuestions(pool, projectId),
    ...(await questionsAbout(pool, projectId, askWithKey, ' (API key)')),
    ...(await searchQuestions(pool, projectId, ask, '')),
    ...(await searchQuestions(pool, projectId, askWithKey, ' (API key)')),
    ...(await exportQuestions(pool, projectId, ask)),
    ...(await operatorQuestions(pool, projectId, ask)),
  ].filter(({ name }) => name.includes(values.only));
  for (const { name, run } of questions) {
    const times: number[] = [];
    for (let index = 0; index < RUNS; index++) {
      const before = performance.now();
      await run();
      times.push(performance.now() - before);
    }
    const found = [];
    for (const statement of await statementsOf(run)) found.push(await explain(pool, statement));
    for (const { sequential, text } of found) {
      if (sequential.length > 0) failures.push(`${name}: sequential scan of ${sequential.join(', ')}\n\n${text}\n`);
    }
    const total = found.reduce((sum, { ms }) => sum + ms, 0);
    if (isSearch(name) && total > MAX_SEARCH_MILLISECONDS) {
      failures.push(`${name}: ${milliseconds(total)}\n\n${found.map(({ text }) => text).join('\n')}\n`);
    }
    const slowest = found.toSorted((a, b) => b.ms - a.ms)[0]!;
    const [first] = times;
    const median = times.toSorted((a, b) => a - b)[RUNS >> 1]!;
    const { partitions, indexes, rowsRead, buffers } = slowest;
    lines.push([
      name,
      milliseconds(first!),
      milliseconds(median),
      milliseconds(total),
      String(partitions),
      rate(rowsRead),
      rate(buffers),
      indexes.join(', '),
    ]);
    plans.push(`${name}\n\n${slowest.text}\n`);
    console.error(lines.at(-1)!.join('  '));
  }
  const columns = ['Question', 'First', 'Median', 'PostgreSQL', 'Tables read', 'Rows read', 'Pages', 'Indexes'];
  console.log(print({ columns, rows: lines }));
  const exported: string[][] = [];
  for (const { list, table } of EXPORTED) {
    const ofLast = async (count: number) => {
      const { rows: before } = await pool.query<{ id: string }>(
        `SELECT "id" FROM "${table}" WHERE "projectId" = $1 ORDER BY "id" DESC OFFSET $2 LIMIT 1`,
        [projectId, count],
      );
      return `/api/projects/${projectId}/${list}/export${before[0] ? `?after=${before[0].id}` : ''}`;
    };
    const paths = { path: await ofLast(Number(values.exported)), warmUp: await ofLast(WARM_UP_ROWS) };
    const figures = await measureExport({ databaseUrl: postgres.url, folder: dataDir, token, ...paths });
    const memory = `${rate(figures.additionalBytes / 1e6)} MB`;
    if (figures.additionalBytes > MAX_EXPORT_BYTES) failures.push(`export of ${list}: ${memory} of additional memory`);
    exported.push([list, rate(figures.rows), `${rate(figures.bytes / 1e6)} MB`, `${rate(figures.seconds)} s`, memory]);
  }
  console.log(`\n${print({ columns: ['Export', 'Rows', 'Size', 'Time', 'Additional memory'], rows: exported })}`);
  if (values.plans) console.log(`\n${plans.join('\n')}`);
  if (failures.length > 0) {
    console.error(failures.join('\n'));
    process.exitCode = 1;
  }
} finally {
  await pool.end();
  await app.stop();
  await postgres.stop();
}

/** Each round counts only a limited number of hours per project. */
async function countEverything(): Promise<void> {
  const rollups = createRollups({ pool, log });
  const countedHours = async () =>
    (
      await pool.query(`SELECT (SELECT count(*) FROM "DeliveryRollup" WHERE "interval" = 'HOUR')
        + (SELECT count(DISTINCT ("projectId", "hour")) FROM "RevenueHour") AS hours`)
    ).rows[0].hours;
  for (let counted = -1; counted !== (await countedHours()); ) {
    counted = await countedHours();
    await rollups.run();
  }
}

function askWith(credential: string): Ask {
  return async (query, variables = {}) => {
    const response = await fetch(`${app.url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = (await response.json()) as { data?: Record<string, unknown>; errors?: unknown[] };
    if (errors) throw new Error(JSON.stringify(errors));
    return data;
  };
}

async function createKey(ask: Ask, projectId: string): Promise<string> {
  const created = (await ask('mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key } }', {
    input: { projectId, name: 'Bench' },
  })) as { createApiKey: { key: string } };
  return created.createApiKey.key;
}

async function createProject(ask: Ask): Promise<string> {
  const walletAddress = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
  const created = (await ask(
    'mutation ($input: CreateProjectInput!) { createProject(input: $input) { project { id } } }',
    { input: { name: 'History', walletAddress } },
  )) as { createProject: { project: { id: string } } };
  return created.createProject.project.id;
}

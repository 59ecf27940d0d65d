/**
 * Measures live subscriptions: how long frames take with many sockets, and how long other requests take.
 *
 *   npm run bench:live                     1,000 and 5,000 sockets
 *   npm run bench:live -- --quick          100 sockets for a few seconds
 *   npm run bench:live -- --profile DIR    with a CPU profile of the API process
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pino from 'pino';
import { startThrowawayPostgres } from '../../scripts/throwaway-postgres.ts';
import { openDevIssuer } from '../../src/auth/dev-issuer.ts';
import { openBus, topics } from '../../src/bus/bus.ts';
import { newId } from '../../src/ids.ts';
import { type Child, startChild } from '../support/child.ts';
import { openPool } from '../support/open-pool.ts';
import { percentile } from '../support/statistics.ts';
import { microseconds, milliseconds, print, rate } from '../support/table.ts';
import type { ApiMethods } from './api.ts';
import type { Dashboard, DashboardMethods } from './dashboards.ts';

/** The maximum number of sockets that an account may have open. */
const SOCKETS_PER_ACCOUNT = 50;
const POSTS_PER_SECOND = 10;

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false }, profile: { type: 'string' } } });
const sizes = values.quick ? [100] : [1_000, 5_000];
const eventsPerSecond = values.quick ? 20 : 100;
const seconds = values.quick ? 3 : 20;

const postgres = await startThrowawayPostgres({ shared_buffers: '256MB' });
const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-bench-'));
const api: Child<ApiMethods> = startChild(
  new URL('api.ts', import.meta.url),
  values.profile ? { CPU_PROFILE: values.profile } : {},
);
const url = await api.call('open', postgres.url, dataDir);
const issuer = await openDevIssuer({ dataDir });
const pool = openPool({ connectionString: postgres.url, max: 10 });
const bus = await openBus({ url: postgres.url, pool, log: pino({ level: 'silent' }) });

try {
  const poster = await openAccount('poster');
  await measurePosts(poster, 2);
  const rows: string[][] = [];
  for (const count of sizes) rows.push(await measure(count, poster));
  const columns = [
    'sockets',
    'frames/s',
    'p50',
    'p95',
    'p99',
    'lost',
    'POST p50 idle',
    'POST p50 under load',
    'CPU per frame',
    'transactions per event',
  ];
  console.log(print({ columns, rows }));
} finally {
  await bus.close();
  await pool.end();
  await api.call('stop');
  await api.end();
  await postgres.stop();
}

/** Opens `count` sockets, 50 per project, and publishes events to all projects in turn. */
async function measure(count: number, poster: Dashboard): Promise<string[]> {
  const accounts: Dashboard[] = [];
  for (let index = 0; index < Math.ceil(count / SOCKETS_PER_ACCOUNT); index++) {
    accounts.push(await openAccount(`dashboard ${count} ${index}`));
  }
  const dashboards: Child<DashboardMethods> = startChild(new URL('dashboards.ts', import.meta.url));
  try {
    const all = accounts.flatMap((account) => Array.from({ length: SOCKETS_PER_ACCOUNT }, () => account));
    await dashboards.call('open', url, all.slice(0, count));
    await reachAll(accounts, dashboards, count);
    await publish(accounts, values.quick ? 1 : 10);
    await sleep(2_000);
    const idle = await measurePosts(poster, values.quick ? 1 : 5);
    await dashboards.call('takeLatencies');

    const before = await look();
    const [published, posts] = await Promise.all([publish(accounts, seconds), measurePosts(poster, seconds)]);
    const expected = published * SOCKETS_PER_ACCOUNT;
    await waitFor(dashboards, expected);
    const after = await look();
    const latencies = await dashboards.call('takeLatencies');
    const open = await dashboards.call('openCount');
    if (open !== count) throw new Error(`${count - open} sockets have closed.`);
    const lost = expected - latencies.length;
    return [
      rate(count),
      rate(latencies.length / seconds),
      ...[0.5, 0.95, 0.99].map((share) => milliseconds(percentile(latencies, share))),
      String(lost),
      ...[idle, posts].map((times) => milliseconds(percentile(times, 0.5))),
      microseconds((after.cpuMicroseconds - before.cpuMicroseconds) / latencies.length),
      ((after.transactions - before.transactions) / published).toFixed(1),
    ];
  } finally {
    await dashboards.call('close');
    await dashboards.end();
  }
}

async function openAccount(subject: string): Promise<Dashboard> {
  const token = await issuer.sign({ subject, tier: 'ENTERPRISE' });
  const walletAddress = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
  const { id } = await post(token, '/api/projects', { name: 'Live', walletAddress });
  return { token, projectId: id };
}

async function post(token: string, path: string, body: unknown): Promise<{ id: string }> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (response.status !== 201) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as { id: string };
}

/** Publishes until every subscription has received an event, which proves that all of them have started. */
async function reachAll(accounts: readonly Dashboard[], dashboards: Child<DashboardMethods>, count: number) {
  await sleep(1_000);
  for (const { projectId } of accounts) await publishOne(projectId);
  await waitFor(dashboards, count);
  await dashboards.call('takeLatencies');
}

async function publishOne(projectId: string): Promise<void> {
  const data = { path: '/joke', upstreamUrl: 'https://api.example.com/joke', priceUsd: '0.001', currency: 'USD' };
  await pool.query(`INSERT INTO "Event" (id, "projectId", type, data) VALUES ($1, $2, 'endpoint.created', $3)`, [
    ...[newId('Event'), projectId, data],
  ]);
  bus.publish(topics.events(projectId));
}

/** Publishes at a steady rate, no matter how long each event takes. Returns the number of events. */
async function publish(accounts: readonly Dashboard[], forSeconds: number): Promise<number> {
  const startedAt = performance.now();
  const publishing: Promise<void>[] = [];
  for (let index = 0; index < eventsPerSecond * forSeconds; index++) {
    await sleep(Math.max(0, startedAt + (index * 1000) / eventsPerSecond - performance.now()));
    publishing.push(publishOne(accounts[index % accounts.length]!.projectId));
  }
  await Promise.all(publishing);
  return publishing.length;
}

/** Creates endpoints, one after the other, at a moderate rate. Returns the response times in milliseconds. */
async function measurePosts({ token, projectId }: Dashboard, forSeconds: number): Promise<number[]> {
  const times: number[] = [];
  for (const endsAt = performance.now() + forSeconds * 1000; performance.now() < endsAt; ) {
    const startedAt = performance.now();
    const body = { path: `/${newId('Endpoint')}`, upstreamUrl: 'https://api.example.com/joke', priceUsd: '0.001' };
    await post(token, `/api/projects/${projectId}/endpoints`, body);
    times.push(performance.now() - startedAt);
    await sleep(1000 / POSTS_PER_SECOND);
  }
  return times;
}

async function waitFor(dashboards: Child<DashboardMethods>, frames: number): Promise<void> {
  const deadline = performance.now() + 30_000;
  while ((await dashboards.call('frameCount')) < frames && performance.now() < deadline) await sleep(50);
}

async function look() {
  const { rows } = await pool.query<{ count: string }>(
    'SELECT xact_commit AS count FROM pg_stat_database WHERE datname = current_database()',
  );
  return { cpuMicroseconds: await api.call('cpuMicroseconds'), transactions: Number(rows[0]!.count) };
}

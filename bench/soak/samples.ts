import type pg from 'pg';
import type { Child } from '../support/child.ts';
import { ROLES, type Role } from '../support/service-process.ts';
import { percentile } from '../support/statistics.ts';
import type { ClientMethods } from './clients.ts';
import type { Times } from './marks.ts';
import type { Service } from './service.ts';

/** The tables that grow with use. The history is in partitions. All other tables should stay the same size. */
const GROWING = ['Event', 'Delivery', 'Attempt', 'Payment', 'AuditEntry'] as const;

/** The values at one moment or, for percentiles, for the time since the last sample. */
export type Sample = { minute: number; values: Record<string, number> };

/** A measured figure: how it is shown, and how much it can vary before it counts as growing. */
export type Figure = { name: string; unit: string; tolerance: number };

const KINDS: Record<keyof Times, string> = {
  payments: 'paid requests',
  requests: 'API requests',
  deliveries: 'deliveries',
  frames: 'live frames',
};

/** Garbage collection makes memory and latencies vary more than counts. */
export const FIGURES: readonly Figure[] = [
  ...ROLES.flatMap((role) => [
    { name: `${role}: memory`, unit: 'MB', tolerance: 0.1 },
    { name: `${role}: heap`, unit: 'MB', tolerance: 0.2 },
    { name: `${role}: open files`, unit: '', tolerance: 0.1 },
  ]),
  { name: 'PostgreSQL connections', unit: '', tolerance: 0.1 },
  ...GROWING.map((table) => ({ name: `${table}: bytes per row`, unit: 'B', tolerance: 0.1 })),
  { name: 'other tables', unit: 'MB', tolerance: 0.2 },
  { name: 'dead rows', unit: '', tolerance: 0.5 },
  ...Object.values(KINDS).flatMap((kind) => [
    { name: `${kind}: p50`, unit: 'ms', tolerance: 0.5 },
    { name: `${kind}: p99`, unit: 'ms', tolerance: 0.5 },
  ]),
];

/** Reads all figures. */
export async function takeSample(options: {
  service: Service;
  pool: pg.Pool;
  clients: Child<ClientMethods>;
}): Promise<Record<string, number>> {
  const { service, pool, clients } = options;
  const [processes, database, times] = await Promise.all([
    Promise.all(ROLES.map((role) => readProcess(service, role))),
    readDatabase(pool),
    clients.call('take'),
  ]);
  return { ...Object.assign({}, ...processes), ...database, ...percentiles(times) };
}

async function readProcess(service: Service, role: Role): Promise<Record<string, number>> {
  const { rss, heap, files } = await service.holdings(role);
  return { [`${role}: memory`]: rss, [`${role}: heap`]: heap, [`${role}: open files`]: files };
}

async function readDatabase(pool: pg.Pool): Promise<Record<string, number>> {
  const { rows: tables } = await pool.query<{ name: string; bytes: number; live: number; dead: number }>(`
    SELECT coalesce(parent.relname, c.relname) AS "name", sum(pg_total_relation_size(c.oid))::float8 AS "bytes",
      sum(s.n_live_tup)::float8 AS "live", sum(s.n_dead_tup)::float8 AS "dead"
    FROM pg_class c
    JOIN pg_stat_user_tables s ON s.relid = c.oid
    LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
    LEFT JOIN pg_class parent ON parent.oid = i.inhparent
    WHERE c.relkind = 'r' GROUP BY 1`);
  const { rows } = await pool.query<{ connections: number }>(`
    SELECT count(*)::int AS "connections" FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND application_name <> 'soak'`);
  const growing = new Map(tables.filter(({ name }) => isGrowing(name)).map((table) => [table.name, table]));
  const others = tables.filter(({ name }) => !isGrowing(name));
  return {
    'PostgreSQL connections': rows[0]!.connections,
    ...Object.fromEntries(
      GROWING.map((name) => {
        const { bytes = 0, live = 0 } = growing.get(name) ?? {};
        return [`${name}: bytes per row`, bytes / Math.max(1, live)];
      }),
    ),
    'other tables': others.reduce((sum, { bytes }) => sum + bytes, 0) / 2 ** 20,
    'dead rows': tables.reduce((sum, { dead }) => sum + dead, 0),
  };
}

const isGrowing = (name: string): boolean => (GROWING as readonly string[]).includes(name);

function percentiles(times: Times): Record<string, number> {
  const entries = Object.entries(KINDS).flatMap(([kind, name]) =>
    [0.5, 0.99].map((share) => [`${name}: p${share * 100}`, percentile(times[kind as keyof Times], share)]),
  );
  return Object.fromEntries(entries);
}

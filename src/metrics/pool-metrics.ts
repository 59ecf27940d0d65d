import { Gauge, type Registry } from '@prometheus-io/client';
import type pg from 'pg';

/** Metrics for this process's database connections. */
export function createPoolMetrics(registry: Registry) {
  const registers = [registry];
  const pools = new Map<string, pg.Pool>();
  new Gauge({
    name: 'tollgate_database_connections',
    help: 'This process’s open database connections, by state. The main pool has at most DATABASE_POOL_SIZE connections, and the queue pool (workers only) has at most 4.',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const [name, pool] of pools) {
        this.set({ pool: name, state: 'idle' }, pool.idleCount);
        this.set({ pool: name, state: 'busy' }, pool.totalCount - pool.idleCount);
      }
    },
  });
  new Gauge({
    name: 'tollgate_database_waiting',
    help: 'Statements waiting for a connection from the pool. If it stays above 0 for several minutes, raise DATABASE_POOL_SIZE or find the slow statements.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [name, pool] of pools) this.set({ pool: name }, pool.waitingCount);
    },
  });
  return { watchPool: (name: 'main' | 'queue', pool: pg.Pool) => void pools.set(name, pool) };
}

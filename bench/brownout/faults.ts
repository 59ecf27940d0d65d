import { withConnection } from '../../src/database/connection.ts';
import type { Disk } from './disk.ts';
import type { Postgres } from './postgres.ts';
import type { SlowProxy } from './slow-proxy.ts';

/** How late the database responds. */
const DELAY_MILLISECONDS = 5_000;

/** What can be broken. */
export type Parts = { postgres: Postgres; proxy: SlowProxy; logDisk: Disk };

export type Fault = {
  name: string;
  /** Whether all roles are expected to go on working. Otherwise, they are expected to become unready. */
  isSurvived?: boolean;
  strike(parts: Parts): Promise<void> | void;
  mend(parts: Parts): Promise<void> | void;
};

export const FAULTS: Fault[] = [
  {
    name: 'slow database',
    strike: ({ proxy }) => proxy.delay(DELAY_MILLISECONDS),
    mend: ({ proxy }) => proxy.delay(0),
  },
  {
    name: 'read-only database',
    strike: ({ postgres }) => setReadOnly(postgres, 'on'),
    mend: ({ postgres }) => setReadOnly(postgres, 'off'),
  },
  {
    name: 'full disk of the database',
    strike: ({ postgres }) => postgres.fillDisk(),
    mend: ({ postgres }) => postgres.clearDisk(),
  },
  {
    name: 'failed disk of the database',
    strike: ({ postgres }) => postgres.failDisk(),
    mend: ({ postgres }) => postgres.repairDisk(),
  },
  {
    name: 'full disk of the log',
    isSurvived: true,
    strike: ({ logDisk }) => logDisk.fill(),
    mend: ({ logDisk }) => logDisk.clear(),
  },
];

/** Sessions that are already open are affected too. Some providers do this when a disk is almost full. */
async function setReadOnly({ url }: Postgres, value: 'on' | 'off'): Promise<void> {
  await withConnection(url, 'brownout', async (client) => {
    await client.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`);
    await client.query('SELECT pg_reload_conf()');
  });
}

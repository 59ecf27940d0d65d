import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pino from 'pino';
import { openDatabase } from '../../src/database/client.ts';
import { startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts';
import { applyMigrations, MIGRATIONS } from '../../src/database/migrations.ts';
import { createReadiness } from '../../src/database/readiness.ts';

/**
 * Fills the disk that holds a database. Prints the results of the readiness check and of a read before the disk is
 * full, while it is full, and afterward. The argument is a directory on a disk that may be filled.
 */
const disk = process.argv[2]!;
const log = pino({ level: 'silent' });
const dataDir = join(disk, 'data');
await mkdir(dataDir, { mode: 0o755 });
const settings = {
  fsync: 'off',
  wal_recycle: 'off',
  min_wal_size: '32MB',
  max_wal_size: '32MB',
  shared_buffers: '16MB',
};
const postgres = await startEmbeddedPostgres({ dataDir, log, settings });
const db = await openDatabase({ url: postgres.url, poolSize: 2, log });
await applyMigrations(postgres.url, MIGRATIONS, log);

const outcome = (promise: Promise<unknown>) =>
  promise.then(
    () => 'fine',
    (error: { code?: string }) => error.code ?? String(error),
  );
// Creates a new readiness check each time, because a check caches its result for a while.
const found = async () => ({
  written: await outcome(createReadiness(db.pool)()),
  read: await outcome(db.pool.query('SELECT 1')),
});

const before = await found();
await fill(join(disk, 'filler'));
const full = await found();
await rm(join(disk, 'filler'));
const after = await found();
await db.close();
await postgres.stop();
console.log(JSON.stringify({ before, full, after }));

async function fill(path: string): Promise<void> {
  const file = await open(path, 'w');
  // The chunks get smaller and smaller, until no space is left.
  for (let bytes = 1 << 20; bytes >= 1; bytes = bytes >> 1) {
    await appendUntilRefused(file, Buffer.alloc(bytes));
  }
  await file.close();
}

async function appendUntilRefused(file: FileHandle, chunk: Buffer): Promise<void> {
  try {
    for (;;) await file.write(chunk);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

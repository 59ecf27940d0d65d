/** A process that applies the migrations of a directory to a database and prints the names of those it applied. */
import pg from 'pg';
import pino from 'pino';
import { applyMigrations } from '../../src/database/migrations.ts';

const [url, directory = ''] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url });
const { applied } = await applyMigrations(pool, directory, pino({ level: 'silent' }));
await pool.end();
process.stdout.write(`${JSON.stringify(applied)}\n`);

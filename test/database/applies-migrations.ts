/** A process that applies the migrations in a directory to a database and prints the names of the applied ones. */
import pino from 'pino';
import { applyMigrations } from '../../src/database/migrations.ts';

const [url = '', directory = ''] = process.argv.slice(2);
const { applied } = await applyMigrations(url, directory, pino({ level: 'silent' }));
process.stdout.write(`${JSON.stringify(applied)}\n`);

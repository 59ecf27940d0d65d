/**
 * A process that uses a data directory's embedded PostgreSQL until SIGTERM or SIGINT. Prints `{url, dataDir}` when
 * it is ready. Before it exits, it runs one more slow statement and prints the outcome.
 */
import pg from 'pg';
import pino from 'pino';
import { startEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres.ts';

const [dataDir = ''] = process.argv.slice(2);
const postgres = await startEmbeddedPostgres({ dataDir, log: pino({ level: 'silent' }) });
const client = new pg.Client({ connectionString: postgres.url });
await client.connect();
const keepAlive = setInterval(() => {}, 60_000);

async function finish(): Promise<void> {
  const { rows } = await client.query('SELECT 1 AS "response" FROM pg_sleep(0.3)');
  await client.end();
  await postgres.stop();
  clearInterval(keepAlive);
  print(rows[0]);
}

function print(message: unknown): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

process.once('SIGTERM', finish);
process.once('SIGINT', finish);
print({ url: postgres.url, dataDir: postgres.dataDir });

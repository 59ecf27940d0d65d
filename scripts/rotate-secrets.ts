/**
 * Encrypts all stored secrets with the first key of `SECRET_KEYS` while the service runs. Reads the same environment as
 * the server. Exits with 1 if any secret is still encrypted with another key. You can run it again at any time.
 */
import pino from 'pino';
import { readConfig } from '../src/config/config.ts';
import { openDatabase } from '../src/database/client.ts';
import { startEmbeddedPostgres } from '../src/database/embedded/embedded-postgres.ts';
import { type Keyring, loadKeyring } from '../src/secrets/keyring.ts';
import { rotateSecrets } from '../src/secrets/rotate.ts';
import { createSecretBox } from '../src/secrets/secret-box.ts';

const CONNECTIONS = 4;
const log = pino({ base: null }, pino.destination({ dest: 2, sync: true }));

try {
  await run();
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}

async function run(): Promise<void> {
  const config = readConfig(process.env);
  const keyring = await loadKeyring(config);
  const embedded = config.databaseUrl ? undefined : await startEmbeddedPostgres({ dataDir: config.dataDir, log });
  try {
    const url = config.databaseUrl ?? embedded!.url;
    await rotate({ url, directUrl: config.databaseDirectUrl }, keyring);
  } finally {
    await embedded?.stop();
  }
}

async function rotate(urls: { url: string; directUrl: string | undefined }, keyring: Keyring): Promise<void> {
  const db = await openDatabase({ ...urls, poolSize: CONNECTIONS, log, applicationName: 'tollgate-rotate-secrets' });
  try {
    const report = await rotateSecrets({ db, keyring, secretBox: createSecretBox(keyring), log });
    process.stdout.write(`${JSON.stringify({ currentKey: keyring.current.id, ...report }, null, 2)}\n`);
    if (report.remaining > 0) process.exitCode = 1;
  } finally {
    await db.close();
  }
}

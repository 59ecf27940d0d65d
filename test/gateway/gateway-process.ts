import pino from 'pino';
import { startApp } from '../../src/app.ts';
import { readConfig } from '../../src/config/config.ts';

/** Runs the service in a separate process, for tests that kill it. Takes its environment as JSON and prints its URL. */
const env = JSON.parse(process.argv[2]!) as Record<string, string>;
const config = readConfig(env);
const log = pino({ level: env.TEST_LOG ?? 'silent' }, pino.destination(2));
const app = await startApp({ config, databaseUrl: config.databaseUrl!, log });
process.stdout.write(`${JSON.stringify({ url: app.url })}\n`);

import pino from 'pino';
import { startApp } from '../../src/app.ts';
import { readConfig } from '../../src/config/config.ts';
import { parseEgressAllow } from '../../src/egress/allow-list.ts';
import { createEgress } from '../../src/egress/egress.ts';
import { configuredRails } from '../../src/gateway/chain/rails.ts';
import { patient } from './patient.ts';

/**
 * Runs the service in a separate process, for tests that kill it. Takes its environment as JSON and prints its URL. With
 * `patient` as the second argument, it waits for the facilitator and the node for as long as it takes.
 */
const env = JSON.parse(process.argv[2]!) as Record<string, string>;
const config = readConfig(env);
const log = pino({ level: env.TEST_LOG ?? 'silent' }, pino.destination(2));
const isPatient = process.argv[3] === 'patient';
const egress = isPatient && createEgress({ allow: parseEgressAllow('127.0.0.1/32:*'), log });
const overrides = egress ? { rails: configuredRails(config, patient(egress)) } : {};
const app = await startApp({ config, databaseUrl: config.databaseUrl!, log, overrides });
process.stdout.write(`${JSON.stringify({ url: app.url })}\n`);

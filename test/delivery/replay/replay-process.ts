/** A process that only runs replays, for tests that kill it. Prints `{"ready":true}` once it is ready. */
import pino from 'pino';
import { openBus } from '../../../src/bus/bus.ts';
import { openDatabase } from '../../../src/database/client.ts';
import { createReplayRunner } from '../../../src/delivery/replay/runner.ts';

const [url = ''] = process.argv.slice(2);
const log = pino({ level: 'silent' });
const db = await openDatabase({ url, poolSize: 3, log });
createReplayRunner({ db, bus: await openBus({ url, pool: db.pool, log }), log }).start();
process.stdout.write('{"ready":true}\n');

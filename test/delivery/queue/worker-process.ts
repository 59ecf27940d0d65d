/** A process that only runs a delivery worker, for tests that kill it. Prints `{"ready":true}` once it is ready. */
import pino from 'pino';
import { openBus } from '../../../src/bus/bus.ts';
import { openDatabase } from '../../../src/database/client.ts';
import { createDeliveryWorker } from '../../../src/delivery/worker.ts';
import { parseEgressAllow } from '../../../src/egress/allow-list.ts';
import { createEgress } from '../../../src/egress/egress.ts';
import { parseKeyring } from '../../../src/secrets/keyring.ts';
import { createSecretBox } from '../../../src/secrets/secret-box.ts';
import { pace } from '../../support/pace.ts';

const [url = '', keys = ''] = process.argv.slice(2);
const log = pino({ level: 'silent' });

async function open() {
  const db = await openDatabase({ url, poolSize: 5, log });
  return { db, bus: await openBus({ url, pool: db.pool, log }) };
}

async function openWhenThere(): ReturnType<typeof open> {
  for (;;) {
    try {
      return await open();
    } catch {
      await pace(50);
    }
  }
}

const { db, bus } = await openWhenThere();
createDeliveryWorker({
  db,
  bus,
  log,
  egress: createEgress({ allow: parseEgressAllow('127.0.0.1/32:*'), log }),
  secretBox: createSecretBox(parseKeyring(keys)),
  connectors: () => undefined,
  settings: {
    version: '0',
    leaseSeconds: 2,
    claimBatch: 20,
    maxInFlight: 60,
    retryScheduleSeconds: Array(50).fill(0.2),
  },
}).start();
process.stdout.write('{"ready":true}\n');

/**
 * The service as `src/main.ts` runs it, but with a retry schedule that doesn't take days. With `faults`, where
 * receivers stall and workers are killed, its timeouts are also short.
 */
import { startApp } from '../../src/app.ts';
import { readConfig } from '../../src/config/config.ts';
import { createLog } from '../../src/log.ts';

const config = readConfig(process.env);
const app = await startApp({
  config,
  databaseUrl: config.databaseUrl ?? '',
  log: createLog(config.logLevel),
  overrides: {
    delivery: {
      retryScheduleSeconds: Array(200).fill(0.3),
      ...(process.argv[2] === 'faults' && { leaseSeconds: 5, timeoutMilliseconds: 1_500 }),
    },
  },
});
process.on('SIGTERM', async () => {
  await app.stop();
  process.exit(0);
});
process.on('disconnect', () => process.exit(1));
process.stdout.write('{"ready":true}\n');

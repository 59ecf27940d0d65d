import { randomUUID } from 'node:crypto';
import { PgBoss } from 'pg-boss';
import { FILLER } from '../delivery/engine.ts';
import { countStatements, createHistory, createSender, inChunks } from './common.mjs';

const QUEUE = 'deliver';

export async function createEngine({ databaseUrl, urls }) {
  const statements = countStatements();
  const history = createHistory(databaseUrl);
  const send = createSender();
  const boss = new PgBoss({ connectionString: databaseUrl, max: 10 });
  boss.on('error', () => {});
  await boss.start();
  const data = { description: FILLER };

  return {
    async prepare() {
      await history.prepare();
      await boss.createQueue(QUEUE, { notify: true });
    },
    load: (count, destinations) =>
      inChunks(count, destinations, data, 500, (jobs) =>
        boss.insert(
          QUEUE,
          jobs.map((job) => ({ data: job })),
        ),
      ),
    async publish() {
      const id = randomUUID();
      await boss.send(QUEUE, { id, url: urls[0], data });
      return id;
    },
    async start() {
      const options = { batchSize: 64, localConcurrency: 4, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
      await boss.work(QUEUE, options, async (jobs) => {
        await history.record(await Promise.all(jobs.map((job) => send(job.data))));
      });
    },
    recorded: history.recorded,
    async stop() {
      await boss.stop({ graceful: false });
      await history.end();
    },
    statements,
  };
}

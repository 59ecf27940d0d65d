import { randomUUID } from 'node:crypto';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { FILLER } from '../delivery/engine.ts';
import { countStatements, createHistory, createSender, inChunks } from './common.mjs';

const QUEUE = 'deliver';

export async function createEngine({ databaseUrl, redisUrl, urls }) {
  const statements = countStatements();
  const history = createHistory(databaseUrl);
  const send = createSender();
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const queue = new Queue(QUEUE, { connection });
  const data = { description: FILLER };
  let worker;

  return {
    async prepare() {
      await history.prepare();
    },
    load: (count, destinations) =>
      inChunks(count, destinations, data, 500, (jobs) =>
        queue.addBulk(jobs.map((job) => ({ name: QUEUE, data: job }))),
      ),
    async publish() {
      const id = randomUUID();
      await queue.add(QUEUE, { id, url: urls[0], data });
      return id;
    },
    async start() {
      worker = new Worker(QUEUE, async (job) => void (await history.record([await send(job.data)])), {
        connection: connection.duplicate(),
        concurrency: 64,
      });
      await worker.waitUntilReady();
    },
    recorded: history.recorded,
    async stop() {
      await worker?.close();
      await queue.close();
      connection.disconnect();
      await history.end();
    },
    statements,
  };
}

import { randomUUID } from 'node:crypto';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import { FILLER } from '../delivery/engine.ts';
import { countStatements, createHistory, createSender, inChunks } from './common.mjs';

const logger = new Logger(() => () => {});
// https://worker.graphile.org/docs/performance#batching
const FAST = { concurrentJobs: 64, localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };

export async function createEngine({ databaseUrl, urls }) {
  const statements = countStatements();
  const history = createHistory(databaseUrl);
  const send = createSender();
  const utils = await makeWorkerUtils({ connectionString: databaseUrl, logger });
  const data = { description: FILLER };
  let runner;

  const taskList = {
    deliver: async (payload) => {
      await history.record([await send(payload)]);
    },
  };

  return {
    async prepare() {
      await history.prepare();
      await utils.migrate();
    },
    load: (count, destinations) =>
      inChunks(count, destinations, data, 500, (jobs) =>
        utils.addJobs(jobs.map((payload) => ({ identifier: 'deliver', payload }))),
      ),
    async publish() {
      const id = randomUUID();
      await utils.addJob('deliver', { id, url: urls[0], data });
      return id;
    },
    async start() {
      runner = await run({
        connectionString: databaseUrl,
        maxPoolSize: 10,
        taskList,
        preset: { worker: FAST },
        logger,
      });
    },
    recorded: history.recorded,
    async stop() {
      await runner?.stop();
      await utils.release();
      await history.end();
    },
    statements,
  };
}

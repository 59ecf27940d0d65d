/**
 * Compares the delivery engine with other engines that do the same work in the same run.
 *
 *   npm run bench:delivery                     everything, in less than 15 minutes
 *   npm run bench:delivery -- --quick          smaller numbers, in about a minute
 *   npm run bench:delivery -- --only peers     one part: peers, workers, destinations, backlog, slow, calm, black-hole,
 *                                              snapshot, dump, sleeping, herd, slow-account, burst
 *   npm run bench:delivery -- --profile DIR    with CPU profiles of the workers
 */
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { installPeers } from '../support/install-peers.ts';
import { print } from '../support/table.ts';
import { PARTS, type Part } from './parts.ts';
import { openStage } from './stage.ts';

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string' }, profile: { type: 'string' } },
});
const parts: Record<string, Part> = PARTS;
if (values.only !== undefined && !(values.only in parts)) {
  console.error(`--only takes one of ${Object.keys(parts).join(', ')}.`);
  process.exit(1);
}

const [cpu] = cpus();
console.log(
  `${cpus().length} × ${cpu?.model}, Node ${process.version}, PostgreSQL and receivers on the same machine\n`,
);
const stage = await openStage({ hasPeers: installPeers(), ...(values.profile && { cpuProfile: values.profile }) });
try {
  for (const [name, { title, run }] of Object.entries(parts)) {
    if (values.only !== undefined && values.only !== name) continue;
    const table = await run(stage, values.quick);
    console.log(`${title}\n\n${print(table)}\n`);
  }
} finally {
  await stage.close();
}

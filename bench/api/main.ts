/**
 * Compares the management API with hand-written servers that use the same tables and the same Prisma client. They apply
 * the same rules: jose verifies the token, the user is read from the database, every `where` contains the tenant, and a
 * limiter counts requests.
 *
 *   npm run bench:api                        everything, in about ten minutes
 *   npm run bench:api -- --quick             smaller numbers, in about two minutes
 *   npm run bench:api -- --only rest-list    one part: rest-one, rest-list, rest-create, graphql-one, graphql-nested,
 *                                            graphql-create
 *   npm run bench:api -- --profile DIR       with CPU profiles of the servers
 */
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { installPeers } from '../support/install-peers.ts';
import { reserveCore } from '../support/processes.ts';
import { print } from '../support/table.ts';
import { compare } from './compare.ts';
import { PARTS } from './requests.ts';
import { openStage } from './stage.ts';

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string' }, profile: { type: 'string' } },
});
if (values.only !== undefined && !(values.only in PARTS)) {
  console.error(`--only takes one of ${Object.keys(PARTS).join(', ')}.`);
  process.exit(1);
}
if (!installPeers()) {
  console.error('The peers could not be installed.');
  process.exit(1);
}

const core = reserveCore();
const place = core === undefined ? 'on the same cores' : 'on different cores from the servers';
console.log(`${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}, PostgreSQL and clients ${place}\n`);

const stage = await openStage({ core, cpuProfile: values.profile });
try {
  for (const [name, { title, names, request }] of Object.entries(PARTS)) {
    if (values.only !== undefined && values.only !== name) continue;
    const table = await stage.withServers(names, (contest) => compare(contest, request(contest.data), values.quick));
    console.log(`${title}\n\n${print(table)}\n`);
  }
} finally {
  await stage.close();
}

/**
 * Compares the gateway's paid path with the x402 middleware for other servers, and its 402 response with a static one.
 *
 *   npm run bench:gateway                     everything, in about 15 minutes
 *   npm run bench:gateway -- --quick          smaller numbers, in about two minutes
 *   npm run bench:gateway -- --only paid      one part: unpaid, paid, single, memory, stream, streams
 *   npm run bench:gateway -- --profile DIR    with CPU profiles of the servers
 */
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { installPeers } from '../support/install-peers.ts';
import { reserveCore } from '../support/processes.ts';
import { print, rate } from '../support/table.ts';
import { isNginxInstalled } from './nginx.ts';
import { PARTS, type Part } from './parts.ts';
import { type ServerName, WITHOUT_PUBLIC_URL } from './server.ts';
import { openStage } from './stage.ts';

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string' }, profile: { type: 'string' } },
});
const parts: Record<string, Part> = PARTS;
if (values.only !== undefined && !(values.only in parts)) {
  console.error(`--only takes one of ${Object.keys(parts).join(', ')}.`);
  process.exit(1);
}

const core = reserveCore();
const [cpu] = cpus();
const place = core === undefined ? 'on the same cores' : 'on different cores from the servers';
console.log(
  `${cpus().length} × ${cpu?.model}, Node ${process.version}, PostgreSQL, buyers, and facilitator ${place}\n`,
);
const hasPeers = installPeers();
const hasNginx = isNginxInstalled();
/** The reason why a server isn't measured, or undefined if it is. */
function obstacleTo(name: ServerName): string | undefined {
  if (name === 'nginx') return hasNginx ? undefined : 'it is not installed';
  return name === 'tollgate' || name === WITHOUT_PUBLIC_URL || hasPeers ? undefined : 'it could not be installed';
}

const stage = await openStage({ core, cpuProfile: values.profile });
try {
  for (const [part, { title, names, run }] of Object.entries(parts)) {
    if (values.only !== undefined && values.only !== part) continue;
    const present = names.filter((name) => !obstacleTo(name));
    const { result, paidCount } = await stage.withServers(present, (contest) => run(contest, values.quick));
    const notes = names
      .filter(obstacleTo)
      .map((name) => `${name} was left out, because ${obstacleTo(name)}.`)
      .concat(
        paidCount > 0 ? [`Checked: Tollgate’s ${rate(paidCount)} paid responses match its ledger and books.`] : [],
      );
    console.log(`${[title, print(result), ...notes].join('\n\n')}\n`);
  }
} finally {
  await stage.close();
}

import { countLine, failureLines } from './report.ts';
import { runTests } from './run-tests.ts';

/**
 * `npm run test:postgres`: runs the tests of everything that sends SQL, the contract with clients, and the demo on the
 * versions of PostgreSQL that are installed here and in production: the embedded one, and Debian's, in a time zone other
 * than UTC. Each directly and through PgBouncer in transaction mode. Needs the packages `postgresql` and `pgbouncer`.
 *
 * Arguments are passed to Vitest instead of the tests' paths.
 */

const CONTRACT = ['graphql-', 'isolation', 'mistakes', 'nodes', 'payments', 'permissions', 'rest-parity'];
const PATHS = [
  ...['rest/', 'graphql/', 'schema/', 'features/', 'delivery/', 'gateway/payment/'],
  ...CONTRACT.map((name) => `conformance/${name}`),
  'docs/demo',
].map((path) => `test/${path}`);
const SERVERS = { embedded: 'PostgreSQL 18', installed: 'Debian’s PostgreSQL' };
const POOLERS = { '': 'directly', transaction: 'through PgBouncer' };

const given = process.argv.slice(2);
const lines: string[] = [];
for (const [server, name] of Object.entries(SERVERS)) {
  for (const [pooler, way] of Object.entries(POOLERS)) {
    Object.assign(process.env, { TEST_POSTGRES: server, TEST_POOLER: pooler });
    const report = await runTests(['vitest', 'run', '--project', 'service', ...(given.length > 0 ? given : PATHS)]);
    lines.push(...failureLines(report), `${name}, ${way}: ${countLine(report)}`);
    if (!countLine(report).endsWith(' 0 failed')) process.exitCode = 1;
  }
}
process.stdout.write(`\n${lines.join('\n')}\n`);

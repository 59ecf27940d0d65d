/**
 * Shows what each role does, and that nothing is lost, while its database responds after 5 s, is read-only, or has a full
 * or a failed disk, and while the disk that holds the log is full.
 *
 *   npm run brownout
 *   npm run brownout -- --only slow      the faults whose names contain "slow"
 *   npm run brownout -- --seconds 60     how long each fault lasts once it is noticed; by default, 20 s
 *
 * Needs Linux and root. The disks are files that are mounted in a separate mount namespace. Exits with 1 if something was
 * lost, charged twice, or is stuck, if a process ended, or if a caller got a server error other than a 503 with
 * `Retry-After`.
 */
import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { checkBooks } from '../failover/books.ts';
import { startChain } from '../failover/chain.ts';
import { type Load, startLoad } from '../failover/load.ts';
import { ROLES, type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { print } from '../support/table.ts';
import { type Backend, startBalancer } from '../upgrade/balancer.ts';
import { createDisk } from './disk.ts';
import { FAULTS, type Fault, type Parts } from './faults.ts';
import { type Observer, observe } from './observer.ts';
import { startPostgres } from './postgres.ts';
import { startSlowProxy } from './slow-proxy.ts';

const LOG_MEGABYTES = 8;
/** How many operations of each kind must be acknowledged before and after each fault. */
const PROGRESS = 3;

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '20' }, only: { type: 'string', default: '' } },
});

/** Waits until the load has made progress of every kind. */
async function proceed(load: Load): Promise<void> {
  const counts = () => [load.changes.length, load.created.length, servedCount(load), load.received.size];
  const before = counts();
  while (!counts().every((count, index) => count >= before[index]! + PROGRESS)) await sleep(50);
}

const servedCount = ({ payments }: Load): number => payments.filter(({ isServed }) => isServed).length;

const list = (counts: Map<string, number>) => [...counts].map(([what, count]) => `${count} × ${what}`).join('; ');

type Result = { rows: string[][]; surprises: string[] };

/** Breaks one part under load, and returns what each process did meanwhile. */
async function suffer(fault: Fault, parts: Parts, load: Load, observers: Observer[]): Promise<Result> {
  const allAre = async (isExpected: (observer: Observer) => boolean) => {
    while (!observers.every(isExpected)) await sleep(100);
  };
  await proceed(load);
  for (const observer of observers) observer.read();
  const receivedBefore = load.received.size;
  await fault.strike(parts);
  if (fault.isSurvived) await proceed(load);
  else await allAre(({ readiness }) => readiness() === 503);
  await sleep(Number(values.seconds) * 1000);
  const during = observers.map((observer) => observer.read());
  const deliveries = load.received.size - receivedBefore;

  await fault.mend(parts);
  const mendedAt = performance.now();
  await proceed(load);
  await allAre(({ readiness }) => readiness() === 200);
  console.log(
    `${fault.name}: everything works ${((performance.now() - mendedAt) / 1000).toFixed(1)} s after the repair`,
  );

  const surprises: string[] = [];
  const rows = observers.map(({ process, read }, index) => {
    const { healthz, readyz, responses, messages } = during[index]!;
    const after = read();
    const alive = [...healthz, ...after.healthz];
    if (alive.some((status) => status !== 200)) surprises.push(`${fault.name}: ${process.role}: ${alive}`);
    const did = process.role === 'worker' ? `${deliveries} deliveries` : list(responses);
    const said = new Map([...messages, ...(fault.isSurvived ? after.messages : [])]);
    return [fault.name, process.role, [...readyz, ...after.readyz.slice(1)].join(' → '), did, list(said)];
  });
  return { rows, surprises };
}

async function run(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-brownout-'));
  await chmod(folder, 0o711);
  const postgres = await startPostgres(folder);
  const proxy = await startSlowProxy(postgres.url);
  const logDisk = await createDisk(folder, 'logs', LOG_MEGABYTES);
  const chain = await startChain();
  const url = new URL(postgres.url);
  url.port = String(proxy.port);

  const processes: ServiceProcess[] = [];
  for (const role of ROLES) {
    const env = { ...chain.env, DATABASE_URL: url.href, DATABASE_POOL_SIZE: '10', LOG_LEVEL: 'info' };
    processes.push(await startServiceProcess({ role, name: role, folder, logFolder: logDisk.path, env }));
  }
  const observers = processes.map(observe);
  const balancer = await startBalancer({
    // If the database fails during a COMMIT, the service can't know whether a change was applied, and says so.
    allowedCodes: ['OUTCOME_UNCERTAIN'],
    onResponse: (name, status) => observers.find(({ process }) => process.name === name)!.note(String(status)),
  });
  balancer.use(processes.filter((process): process is ServiceProcess & Backend => process.role !== 'worker'));
  const load = await startLoad({ url: balancer.url, dataDir: folder, chain, pauseMilliseconds: 150 });

  const results: Result[] = [];
  for (const fault of FAULTS.filter(({ name }) => name.includes(values.only)))
    results.push(await suffer(fault, { postgres, proxy, logDisk }, load, observers));
  await load.stop();
  const surprises = results.flatMap((result) => result.surprises);
  const books = {
    ...(await checkBooks(postgres.url, load, chain)),
    'server errors': [...balancer.faults.values()].reduce((sum, count) => sum + count, 0),
    'failed health checks': surprises.length,
    'processes that ended': processes.filter(({ isRunning }) => !isRunning()).length,
  };
  const columns = ['fault', 'role', '/readyz', 'responses during the fault', 'log'];
  console.log(print({ columns, rows: results.flatMap(({ rows }) => rows) }));
  console.log(
    `acknowledged: ${load.changes.length} changes, ${load.created.length} endpoints, ${servedCount(load)} paid responses; received: ${load.received.size} deliveries; PostgreSQL was restarted ${postgres.restarts()} times`,
  );
  console.table(books);
  if (balancer.faults.size > 0) console.log('server errors by process:', balancer.faults);
  if (surprises.length > 0) console.log(surprises);
  await Promise.all(observers.map((observer) => observer.stop()));
  await Promise.all(processes.map((process) => process.stop()));
  await postgres.stop();
  await logDisk.remove();
  const isClean = Object.values(books).every((count) => count === 0);
  if (isClean) await rm(folder, { recursive: true, force: true });
  else console.log(`The logs are in ${folder}.`);
  return isClean ? 0 : 1;
}

/** Runs this program in its own mount namespace, so that its disks end with it. */
function runIsolated(): number {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    console.error('This needs Linux and root.');
    return 2;
  }
  const command = [process.execPath, import.meta.filename, ...process.argv.slice(2)];
  const flags = ['--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const args = ['--pdeathsig', 'KILL', 'unshare', ...flags, ...command];
  const env = { ...process.env, BROWNOUT_ISOLATED: '1' };
  return spawnSync('setpriv', args, { stdio: 'inherit', env }).status ?? 1;
}

process.exit(process.env.BROWNOUT_ISOLATED ? await run() : runIsolated());

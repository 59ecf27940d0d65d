/**
 * Shows that nothing is lost: runs the real service, records events through its API, and breaks everything around it.
 *
 *   npm run chaos                          10,000 events under kill -9, database restarts, and hostile receivers
 *   npm run chaos -- --events N --seed S   N events; the same seed breaks the same things at the same events
 *   npm run chaos -- --break-every N       breaks something every N events on average (default 250)
 *   npm run chaos -- --sigterm N           stops workers N times with SIGTERM under load
 *
 * Exits with 1 if an event was lost or is stuck, if a delivery's attempt count differs from its stored attempts, or,
 * with --sigterm, if an event was delivered twice or a worker didn't exit cleanly.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { seededRandom } from './random.ts';
import type { LedgerLine } from './receiver.ts';
import { startWorld, type World } from './world.ts';

const LANES = 8;
const WORKERS = 3;
const RECEIVERS = ['/one', '/two'];
/** If nothing finishes for this long, everything that is unfinished counts as stuck. */
const STUCK_MILLISECONDS = 60_000;

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '10000' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e6)) },
    'break-every': { type: 'string', default: '250' },
    sigterm: { type: 'string' },
  },
});
const seed = Number(values.seed);
const random = seededRandom(seed);
process.exitCode = values.sigterm
  ? await runShutdowns(Number(values.sigterm))
  : await runFaults(Number(values.events), Number(values['break-every']));

type Stage = { endpointPaths: string[] };

async function furnish(world: World): Promise<Stage> {
  const wallet = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
  const project = await insist<{ id: string }>(world, 'POST', '/api/projects', {
    name: 'Chaos',
    walletAddress: wallet,
  });
  const base = `/api/projects/${project.id}`;
  const endpointPaths: string[] = [];
  for (let lane = 0; lane < LANES; lane++) {
    const endpoint = { path: `/lane-${lane}`, upstreamUrl: 'https://upstream.example/', priceUsd: '1' };
    const { id } = await insist<{ id: string }>(world, 'POST', `${base}/endpoints`, endpoint);
    endpointPaths.push(`${base}/endpoints/${id}`);
  }
  for (const path of RECEIVERS) {
    const webhook = { url: `${world.receiverUrl}${path}`, eventTypes: ['endpoint.pricing_changed'] };
    await insist(world, 'POST', `${base}/webhooks`, webhook);
  }
  return { endpointPaths };
}

/** Retries a request until it succeeds. Only then does its operation count. */
async function insist<T>(world: World, method: string, path: string, body: unknown): Promise<T> {
  for (;;) {
    const answer = await world.call<T>(method, path, body);
    if (answer !== undefined) return answer;
    await sleep(50);
  }
}

/** Records events by changing prices until `isEnough` returns true. Each price encodes the operation's number. */
async function publish(world: World, { endpointPaths }: Stage, done: number[], isEnough: (started: number) => boolean) {
  let started = 0;
  await Promise.all(
    endpointPaths.map(async (path) => {
      while (!isEnough(started)) {
        started++;
        const operation = started;
        await insist(world, 'PATCH', path, { priceUsd: (operation / 1e6).toFixed(6) });
        done.push(operation);
      }
    }),
  );
}

async function runFaults(events: number, eventsPerBreak: number): Promise<number> {
  const world = await startWorld({ workers: WORKERS, seed, mood: 'faults' });
  try {
    const stage = await furnish(world);
    const done: number[] = [];
    const broken = { worker: 0, api: 0, database: 0 };
    const breaking = async () => {
      for (let at = eventsPerBreak / 2; at < events; at += eventsPerBreak * 2 * random()) {
        while (done.length < at) await sleep(20);
        const chance = random();
        const [api, ...workers] = world.nodes;
        const victim = chance < 0.6 ? workers[Math.floor(random() * workers.length)]! : api!;
        if (chance > 0.85) {
          broken.database++;
          await world.restartPostgres();
        } else if (victim.isRunning()) {
          broken[victim.role]++;
          await victim.signal('SIGKILL');
        }
      }
    };
    await Promise.all([publish(world, stage, done, (started) => started >= events), breaking()]);
    const stuck = await settle(world);
    console.log(`seed ${seed}: killed ${broken.worker} workers, ${broken.api} servers, ${broken.database} databases`);
    const miscounted = await countMiscounted(world);
    const { lost } = report(await world.readLedger(), done, { stuck, miscounted });
    return lost + stuck + miscounted > 0 ? 1 : 0;
  } finally {
    await world.end();
  }
}

async function runShutdowns(times: number): Promise<number> {
  const world = await startWorld({ workers: 2, seed, mood: 'calm' });
  try {
    const stage = await furnish(world);
    const done: number[] = [];
    let left = times;
    const ending = async () => {
      for (const workers = world.nodes.slice(1); left > 0; left--) {
        const worker = workers[left % workers.length]!;
        await worker.ready();
        await sleep(random() * 200);
        await worker.signal('SIGTERM');
      }
    };
    await Promise.all([publish(world, stage, done, () => left === 0), ending()]);
    const stuck = await settle(world);
    const { rows } = await world.pool.query<{ error: string; n: number }>(
      `SELECT coalesce("errorClass", 'none') AS "error", count(*)::int AS n FROM "Attempt" GROUP BY 1 ORDER BY 2 DESC`,
    );
    console.log(`attempt errors: ${rows.map(({ error, n }) => `${n} ${error}`).join(', ')}`);
    const exits = world.nodes.flatMap((node) => node.exits);
    const unclean = exits.filter((exit) => exit !== 0).length;
    console.log(`seed ${seed}: ended ${exits.length} workers with SIGTERM under load, ${unclean} of them uncleanly`);
    const miscounted = await countMiscounted(world);
    const { lost, duplicates } = report(await world.readLedger(), done, { stuck, miscounted });
    return lost + stuck + miscounted + duplicates + unclean > 0 ? 1 : 0;
  } finally {
    await world.end();
  }
}

/** Waits until every delivery has succeeded or nothing has changed for a while. Returns how many haven't succeeded. */
async function settle({ pool }: World): Promise<number> {
  let left = Number.POSITIVE_INFINITY;
  let movedAt = performance.now();
  while (left > 0 && performance.now() - movedAt < STUCK_MILLISECONDS) {
    const { rows } = await pool
      .query(`SELECT count(*)::int AS n FROM "Delivery" WHERE "status" <> 'SUCCEEDED'`)
      .catch(() => ({ rows: [{ n: left }] }));
    if (rows[0].n !== left) movedAt = performance.now();
    left = rows[0].n;
    await sleep(200);
  }
  return left;
}

/** The number of deliveries whose attempt count differs from their stored attempts. */
async function countMiscounted({ pool }: World): Promise<number> {
  const { rows } = await pool.query(
    `SELECT count(*)::int AS n FROM "Delivery" d
     WHERE "attemptCount" <> (SELECT count(*) FROM "Attempt" a WHERE a."deliveryId" = d."id")`,
  );
  return rows[0].n;
}

function report(ledger: readonly LedgerLine[], done: readonly number[], counts: { stuck: number; miscounted: number }) {
  const accepted = ledger.filter(({ answer }) => answer === 'accepted' || answer === 'flooded');
  const received = new Set(accepted.map(({ path, operation }) => `${path} ${operation}`));
  const lost = done.flatMap((operation) => RECEIVERS.filter((path) => !received.has(`${path} ${operation}`))).length;
  const distinct = new Set(accepted.map(({ path, id }) => `${path} ${id}`)).size;
  const duplicates = accepted.length - distinct;
  const answers = Map.groupBy(ledger, ({ answer }) => answer);
  console.table({
    'events in': done.length,
    receivers: RECEIVERS.length,
    requests: ledger.length,
    received: distinct,
    lost,
    ...counts,
    duplicates,
  });
  console.log(`responses: ${[...answers].map(([answer, lines]) => `${lines.length} ${answer}`).join(', ')}`);
  return { lost, duplicates };
}

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { openDevIssuer } from '../../src/auth/dev-issuer.ts';
import { startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts';
import { openPool } from '../support/open-pool.ts';
import type { LedgerLine } from './receiver.ts';

const NODE = resolve(import.meta.dirname, '../../node_modules/.bin/node');
// Below the port range for outgoing connections, because one of them could take the port while a server is down.
const newPort = () => 20_000 + Math.floor(Math.random() * 10_000);

export type Role = 'api' | 'worker';
export type World = Awaited<ReturnType<typeof startWorld>>;

/** PostgreSQL, a receiver with its ledger, and service processes that restart whenever they end. */
export async function startWorld({ workers, seed, mood }: { workers: number; seed: number; mood: 'faults' | 'calm' }) {
  const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-chaos-'));
  // If this process runs as root, the server runs under another account, which needs access.
  await chmod(dataDir, 0o711);
  const databasePort = newPort();
  const startPostgres = () => startEmbeddedPostgres({ dataDir, port: databasePort, log: pino({ level: 'silent' }) });
  let postgres = await startPostgres();
  const pool = openPool({ connectionString: postgres.url, max: 2 });

  const apiPort = newPort();
  const secretKeys = `k1:${randomBytes(32).toString('base64')}`;
  const environment = (role: Role): NodeJS.ProcessEnv => ({
    PATH: process.env.PATH,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    DATA_DIR: dataDir,
    NODE_ENV: 'test',
    LOG_LEVEL: 'silent',
    SANDBOX: 'off',
    ROLES: role,
    PORT: role === 'api' ? String(apiPort) : '0',
    DATABASE_URL: postgres.url,
    SECRET_KEYS: secretKeys,
    EGRESS_ALLOW: '127.0.0.1/32:*',
    DATABASE_POOL_SIZE: '6',
  });

  let isEnding = false;
  function keepRunning(role: Role) {
    let child: ChildProcess | undefined;
    let ready: Promise<void> = Promise.resolve();
    const exits: (number | NodeJS.Signals | null)[] = [];
    const start = (onReady: () => void) => {
      child = spawn(NODE, [join(import.meta.dirname, 'node.ts'), mood], {
        env: environment(role),
        // The child's end of the channel closes even if this process is killed. The child then exits.
        stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
      });
      child.stdout?.once('data', onReady);
      child.once('exit', (code, signal) => {
        exits.push(code ?? signal);
        // A node can't start while the database is down.
        if (!isEnding) setTimeout(startAgain, code === 1 ? 100 : 0, onReady);
      });
    };
    const startAgain = (onReady: () => void) => {
      const next = Promise.withResolvers<void>();
      ready = next.promise;
      void ready.then(onReady);
      if (!isEnding) start(next.resolve);
    };
    startAgain(() => {});
    return {
      role,
      exits,
      ready: () => ready,
      async signal(signal: NodeJS.Signals): Promise<void> {
        const { promise, resolve: onExit } = Promise.withResolvers<void>();
        child?.once('exit', () => onExit());
        child?.kill(signal);
        await promise;
      },
      isRunning: () => child?.exitCode === null && child.signalCode === null,
    };
  }
  const nodes = [keepRunning('api'), ...Array.from({ length: workers }, () => keepRunning('worker'))];

  const ledgerFile = join(dataDir, 'ledger.jsonl');
  const receiver = spawn(NODE, [join(import.meta.dirname, 'receiver.ts'), ledgerFile, String(seed), mood], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const [line] = (await once(createInterface({ input: receiver.stdout! }), 'line')) as [string];
  const receiverUrl = `http://127.0.0.1:${JSON.parse(line).port}`;
  const issuer = await openDevIssuer({ dataDir });
  const token = await issuer.sign({ subject: 'chaos', tier: 'ENTERPRISE', requestsPerMinute: null });
  await Promise.all(nodes.map(({ ready }) => ready()));

  return {
    pool,
    nodes,
    receiverUrl,

    /** Sends one request to the API. Returns undefined if the API didn't respond or failed internally. */
    async call<T>(method: string, path: string, body?: unknown): Promise<T | undefined> {
      try {
        const response = await fetch(`http://127.0.0.1:${apiPort}${path}`, {
          method,
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
          signal: AbortSignal.timeout(20_000),
        });
        if (response.ok) return (await response.json()) as T;
        if (response.status < 500) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
        await response.body?.cancel();
      } catch (error) {
        if (error instanceof Error && /^[A-Z]+ \//.test(error.message)) throw error;
      }
      return undefined;
    },

    /** Like `pg_ctl restart -m immediate`: PostgreSQL stops without saving anything and recovers from its log. */
    async restartPostgres(): Promise<void> {
      const { rows } = await pool.query(`SELECT pg_read_file('postmaster.pid') AS text`);
      process.kill(Number.parseInt(rows[0].text, 10), 'SIGQUIT');
      while (
        await pool.query('SELECT 1').then(
          () => true,
          () => false,
        )
      )
        await sleep(10);
      await postgres.stop();
      postgres = await startPostgres();
    },

    async readLedger(): Promise<LedgerLine[]> {
      const text = await readFile(ledgerFile, 'utf8').catch(() => '');
      return text
        .split('\n')
        .filter(Boolean)
        .map((entry) => JSON.parse(entry));
    },

    async end(): Promise<void> {
      isEnding = true;
      await Promise.all(nodes.filter((node) => node.isRunning()).map((node) => node.signal('SIGKILL')));
      receiver.kill('SIGKILL');
      await pool.end();
      await postgres.stop();
      await rm(postgres.dataDir, { recursive: true, force: true });
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer } from 'node:net';
import { resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { pace } from '../support/pace.ts';

const CONFIG = resolve(import.meta.dirname, '../../deploy/high-availability/haproxy.cfg');
const isInstalled = process.platform === 'linux' && spawnSync('haproxy', ['-v']).status === 0;

// Every machine has all addresses from 127.0.0.0 to 127.255.255.255, so the ports are free.
const BIND = '127.77.0.1';
const NODES = { standby1: '127.77.0.11', primary: '127.77.0.12', standby2: '127.77.0.13' } as const;
const ENV = {
  BIND,
  ...Object.fromEntries(Object.values(NODES).map((address, index) => [`POSTGRES${index + 1}`, address])),
  ...Object.fromEntries(['API1', 'API2', 'GATEWAY1', 'GATEWAY2'].map((name) => [name, '127.77.0.21:4020'])),
  API_HOST: 'tollgate.example',
};

const closers: (() => unknown)[] = [];
/** How often each node has been checked. */
let checks: Record<string, number>;

beforeEach(async () => {
  checks = {};
  for (const [name, address] of Object.entries(NODES)) {
    const health = createHttpServer((_request, response) => {
      checks[name] = (checks[name] ?? 0) + 1;
      response.writeHead(name === 'primary' ? 200 : 503).end();
    });
    // Says its name in place of PostgreSQL.
    const node = createServer((socket) => socket.on('error', () => {}).end(name));
    await once(health.listen(8008, address), 'listening');
    await once(node.listen(5432, address), 'listening');
    closers.push(
      () => health.close(),
      () => health.closeAllConnections(),
      () => node.close(),
    );
  }
});
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

function startHaproxy(...args: string[]): ChildProcess {
  const child = spawn('haproxy', ['-db', '-f', CONFIG, ...args], {
    env: { PATH: process.env.PATH, ...ENV },
    stdio: 'ignore',
  });
  closers.push(() => child.kill('SIGKILL'));
  return child;
}

/** Returns the node that a connection reaches, or undefined if HAProxy isn't listening yet. */
async function reach(): Promise<string | undefined> {
  const socket = connect(5432, BIND);
  let name = '';
  socket.on('data', (data) => {
    name += data;
  });
  socket.on('error', () => {});
  await new Promise((closed) => socket.once('close', closed));
  return name || undefined;
}

/**
 * Opens connections until every node has been checked, and returns the nodes that they reach.
 *
 * @param replaced the end of the process that was checking the nodes before.
 */
async function reachUntilChecked(replaced: Promise<unknown>): Promise<Set<string | undefined>> {
  const reached: Promise<string | undefined>[] = [];
  let isReplaced = false;
  void replaced.then(() => {
    isReplaced = true;
    checks = {};
  });
  while (!isReplaced || Object.keys(checks).length < 3) {
    reached.push(reach());
    await pace(20);
  }
  return new Set((await Promise.all([...reached, reach()])).filter((name) => name !== undefined));
}

test.skipIf(!isInstalled)(
  'right after a start and a reload of HAProxy, connections reach only the primary',
  async () => {
    const first = startHaproxy();
    expect(await reachUntilChecked(Promise.resolve())).toEqual(new Set(['primary']));
    const ended = once(first, 'exit');
    startHaproxy('-sf', String(first.pid));
    expect(await reachUntilChecked(ended)).toEqual(new Set(['primary']));
  },
);

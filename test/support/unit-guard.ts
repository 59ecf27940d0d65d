/**
 * Loaded before every unit test file. Fails tests that listen, connect, or start a process, even if the code under test
 * catches the error.
 */
import childProcess, { ChildProcess } from 'node:child_process';
import dgram from 'node:dgram';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { afterAll, afterEach } from 'vitest';

const FORBIDDEN: readonly (readonly [owner: object, method: string, what: string])[] = [
  [net.Server.prototype, 'listen', 'listens on a socket'],
  [net.Socket.prototype, 'connect', 'connects to a server'],
  [dgram.Socket.prototype, 'bind', 'opens a UDP socket'],
  [dgram.Socket.prototype, 'connect', 'opens a UDP socket'],
  [dgram.Socket.prototype, 'send', 'opens a UDP socket'],
  [ChildProcess.prototype, 'spawn', 'starts a process'],
  [childProcess, 'spawnSync', 'starts a process'],
  [childProcess, 'execFileSync', 'starts a process'],
  [childProcess, 'execSync', 'starts a process'],
];

const violations: string[] = [];

for (const [owner, method, what] of FORBIDDEN) {
  Object.assign(owner, {
    [method]: () => {
      const message = `A unit test ${what}. Rename the file to *.service.test.ts, or test the code without it.`;
      violations.push(message);
      throw new Error(message);
    },
  });
}
syncBuiltinESMExports();

function failOnViolation(): void {
  const [message] = violations.splice(0);
  if (message) throw new Error(message);
}

afterEach(failOnViolation);
// Also checks the file's hooks and the code between tests.
afterAll(failOnViolation);

#!/usr/bin/env node
// Runs the command line on the Node of node_modules, whichever Node starts it (20.19 or later). So this is plain
// JavaScript without dependencies.
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const main = resolve(root, 'src/cli/main.ts');

await import('../scripts/setup.mjs');

if (process.versions.node.startsWith('24.')) {
  await import(main);
} else {
  const node = resolve(root, 'node_modules/.bin/node');
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  // The terminal sends Ctrl-C to both. The child decides how to end.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('error', (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
  });
}

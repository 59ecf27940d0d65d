#!/usr/bin/env node
// Runs the command line. In a clone, it can be started with Node 20.19 or later, and runs the source on the Node in
// node_modules. In the package, it runs the build on the user's Node. That's why this is plain JavaScript without
// dependencies.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const NODE_OF_THE_PACKAGE = 24;
const source = new URL('../src/cli/main.ts', import.meta.url);
const built = new URL('../dist/server/cli.mjs', import.meta.url);
const major = Number.parseInt(process.versions.node, 10);

if (existsSync(source)) {
  await import('../scripts/setup.mjs');
  if (major === 24) await import(source);
  else runOnNodeOfClone();
} else if (major >= NODE_OF_THE_PACKAGE) {
  await import(built);
} else {
  process.stderr.write(
    `Tollgate requires Node ${NODE_OF_THE_PACKAGE} or later, but this is Node ${process.versions.node}.\n`,
  );
  process.exitCode = 1;
}

function runOnNodeOfClone() {
  const name = process.platform === 'win32' ? 'node.exe' : 'node';
  const node = fileURLToPath(new URL(`../node_modules/node/bin/${name}`, import.meta.url));
  const child = spawn(node, [fileURLToPath(source), ...process.argv.slice(2)], { stdio: 'inherit' });
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

#!/usr/bin/env bash
# Default metrics whose timers outlive their registry.
#
# Expected: when a registry is cleared, nothing measures on its behalf anymore. With prom-client, the predecessor, no
# timer of JavaScript was involved at all.
#
# Seen: each call of `collectDefaultMetrics` starts a timer that fires every 100 ms until the process ends. It goes on
# after `clear` and after the registry was garbage-collected, and there is no way to stop it. Each time it fires, it
# puts a value into five digests for quantiles.
#
# What follows: a process that creates a registry for each server that it starts, as test suites and embedding programs
# do, gets slower with each one. In a suite that had started a few dozen servers, these timers took 14 % of the CPU time.
# Call `collectDefaultMetrics` once per process, with a registry of its own.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund @prometheus-io/client@0.16.1 prom-client@15.1.3 node@24.21.0
cat > run.cjs <<'JS'
const { createHook } = require('node:async_hooks');

/** How many timers are left of five sets of default metrics whose registries were cleared. */
async function timersLeft(name) {
  const { collectDefaultMetrics, Registry } = require(name);
  const timers = new Set();
  const wait = new Promise((done) => setTimeout(done, 500));
  const hook = createHook({
    init: (id, type) => void (type === 'Timeout' && timers.add(id)),
    destroy: (id) => timers.delete(id),
  }).enable();
  for (let round = 0; round < 5; round++) {
    const register = new Registry();
    collectDefaultMetrics({ register });
    register.clear();
  }
  await wait;
  hook.disable();
  return timers.size;
}

(async () => {
  const left = { 'prom-client 15.1.3': await timersLeft('prom-client') };
  left['@prometheus-io/client 0.16.1'] = await timersLeft('@prometheus-io/client');
  console.log('Node', process.versions.node);
  console.log('timers left after five registries were cleared:', JSON.stringify(left));
  const isSame = JSON.stringify(Object.values(left)) === '[0,5]';
  console.log(isSame ? 'As described.' : 'This has changed.');
  process.exit(isSame ? 0 : 1);
})();
JS
node_modules/.bin/node run.cjs

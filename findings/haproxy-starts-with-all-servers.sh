#!/usr/bin/env bash
# HAProxy in front of PostgreSQL, right after it starts or reloads its configuration.
#
# Expected: with the configuration from Patroni's documentation, clients reach only the node whose health check says that
# it is the primary.
#
# Seen: until a node has been checked for the first time, HAProxy takes it for healthy. The first checks are spread over
# `inter`, so for up to that long, connections go to the standbys in turn. It is the same after each reload, although the
# process before had checked all nodes.
#
# What follows: writes fail with "cannot execute INSERT in a read-only transaction", and reads are out of date. Without
# `on-marked-down shutdown-sessions`, a pool keeps these connections for as long as they last. Choose a short `inter`,
# and check `pg_is_in_recovery()` in each new connection, or set `target_session_attrs`. If exactly one server can be
# healthy, connections can wait until it is so: `tcp-request content accept if { nbsrv(postgres) eq 1 }`, with an
# `inspect-delay`. For reloads, there is `load-server-state-from-file`, and since HAProxy 3.1, `init-state down`.
#
# Needs Debian's package haproxy.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > run.mjs <<'JS'
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer as createHttp } from 'node:http';
import { connect, createServer } from 'node:net';

const listen = async (server) => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server.address().port;
};
// Each node has a health check like Patroni's, and a server that says its name in place of PostgreSQL.
const NODES = { primary: 200, standby1: 503, standby2: 503 };
const servers = [];
const checked = {};
for (const [name, status] of Object.entries(NODES)) {
  const health = await listen(
    createHttp((_request, response) => {
      checked[name] = (checked[name] ?? 0) + 1;
      response.writeHead(status).end();
    }),
  );
  const port = await listen(createServer((socket) => socket.on('error', () => {}).end(name)));
  servers.push(`  server ${name} 127.0.0.1:${port} maxconn 100 check port ${health}`);
}
const free = createServer();
const port = await listen(free);
free.close();
await once(free, 'close');
// As in https://patroni.readthedocs.io/en/latest/ (haproxy.cfg), with other ports.
writeFileSync(
  'haproxy.cfg',
  `global
  maxconn 100
defaults
  mode tcp
  retries 2
  timeout client 30m
  timeout connect 4s
  timeout server 30m
  timeout check 5s
listen postgres
  bind 127.0.0.1:${port}
  option httpchk
  http-check expect status 200
  default-server inter 3s fall 3 rise 2 on-marked-down shutdown-sessions
${servers.join('\n')}
`,
);

/** Connects until all nodes have been checked, and counts which ones it reached. */
async function reached() {
  const counts = { primary: 0, standby1: 0, standby2: 0 };
  while (Object.keys(checked).length < 3) {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.on('data', (data) => (text += data));
    socket.on('error', () => {});
    await once(socket, 'close').catch(() => {});
    if (text) counts[text] += 1;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return counts;
}

const start = (...args) => spawn('haproxy', ['-db', '-f', 'haproxy.cfg', ...args], { stdio: 'ignore' });
const forget = () => Object.keys(checked).forEach((name) => delete checked[name]);
const first = start();
const started = await reached();
forget();
// Each node has been checked several times before the reload.
while (Object.values(checked).length < 3 || Object.values(checked).some((count) => count < 2)) {
  await new Promise((resolve) => setTimeout(resolve, 100));
}
forget();
const ended = once(first, 'exit');
const second = start('-sf', String(first.pid));
await ended;
const reloaded = await reached();
second.kill();

const [version] = execFileSync('haproxy', ['-v']).toString().split('\n');
console.log(version, 'Node', process.versions.node);
console.log('connections after the start:  ', started);
console.log('connections after the reload: ', reloaded);
const isSame = version.includes(' 2.6.') && [started, reloaded].every(({ standby1, standby2 }) => standby1 + standby2 > 0);
console.log(isSame ? 'As described.' : 'This has changed.');
process.exit(isSame ? 0 : 1);
JS
node run.mjs

#!/usr/bin/env bash
# One failed connection, reported twice by pg.
#
# Expected: a client that was never connected reports the failure once, by rejecting the promise of `connect`. The event
# `end` is for connections that were open.
#
# Seen: if the server closes the connection during startup, as a proxy without a healthy server does, `end` comes first,
# and then `connect` rejects. There is no event `error`.
#
# What follows: a program that reconnects on `end` and also when `connect` fails makes two attempts for each failure, and
# then four, eight, and so on, until it runs out of file descriptors. Reconnect in one of the two places only.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund pg@8.23.1
cat > run.mjs <<'JS'
import { once } from 'node:events';
import { createServer } from 'node:net';
import pg from 'pg';

const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.once('data', () => socket.end());
});
await once(server.listen(0, '127.0.0.1'), 'listening');

const reports = [];
const client = new pg.Client({ host: '127.0.0.1', port: server.address().port, user: 'me', database: 'db' });
client.on('error', () => reports.push('error'));
client.on('end', () => reports.push('end'));
await client.connect().catch(({ message }) => reports.push(`rejected: ${message}`));
await new Promise(setImmediate);
server.close();

console.log('pg 8.23.1, Node', process.versions.node);
console.log('reports of one failed connection, in order:', JSON.stringify(reports));
const isSame = JSON.stringify(reports) === JSON.stringify(['end', 'rejected: Connection terminated unexpectedly']);
console.log(isSame ? 'As described.' : 'This has changed.');
process.exit(isSame ? 0 : 1);
JS
node run.mjs

#!/usr/bin/env bash
# Timeouts in a PostgreSQL URL, read by two drivers for Node.
#
# Expected: `statement_timeout=30s` means the same as in PostgreSQL's own settings, 30 seconds, and `connect_timeout=10`
# the same as in libpq, 10 seconds.
#
# Seen: pg keeps the digits and drops the unit. PostgreSQL reads a bare number as milliseconds, so every statement that
# takes longer than 30 ms is canceled, and `lock_timeout=2min` waits for 2 ms. `connect_timeout` sets no time limit at
# all. postgres passes the same values on with their units.
#
# What follows: with pg, write milliseconds without a unit, set `connectionTimeoutMillis` in the options, or put settings
# into the parameter `options`, which PostgreSQL itself reads.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund pg@8.23.1 postgres@3.4.9
cat > run.mjs <<'JS'
import { once } from 'node:events';
import { createServer } from 'node:net';
import pg from 'pg';
import postgres from 'postgres';

function started() {
  let resolve;
  const promise = new Promise((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
let next = started();
// Reads a startup message, and responds with an error, as a server that is still starting does.
const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.once('data', (message) => {
    const words = message.subarray(8).toString().split('\0').filter(Boolean);
    next.resolve(Object.fromEntries(words.flatMap((word, index) => (index % 2 ? [] : [[word, words[index + 1]]]))));
    const fields = Buffer.from('SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0');
    const head = Buffer.from('E\0\0\0\0');
    head.writeInt32BE(fields.length + 4, 1);
    socket.end(Buffer.concat([head, fields]));
  });
});
await once(server.listen(0, '127.0.0.1'), 'listening');

const TIMEOUTS = 'statement_timeout=30s&lock_timeout=2min';
const url = `postgres://me@127.0.0.1:${server.address().port}/db?${TIMEOUTS}&connect_timeout=10`;
const pick = ({ statement_timeout, lock_timeout }) => ({ statement_timeout, lock_timeout });

const client = new pg.Client({ connectionString: url });
client.on('error', () => {});
await client.connect().catch(() => {});
const byPg = pick(await next.promise);

next = started();
const sql = postgres(url.replace('&connect_timeout=10', ''), { max: 1 });
await sql`SELECT 1`.catch(() => {});
const byPostgres = pick(await next.promise);
await sql.end({ timeout: 0 });
server.close();

const seen = { pg: byPg, pgConnectionTimeoutMillis: client._connectionTimeoutMillis, postgres: byPostgres };
const expected = {
  pg: { statement_timeout: '30', lock_timeout: '2' },
  pgConnectionTimeoutMillis: 0,
  postgres: { statement_timeout: '30s', lock_timeout: '2min' },
};
console.log('pg 8.23.1, postgres 3.4.9, Node', process.versions.node);
console.log('in the URL:            ', TIMEOUTS, 'connect_timeout=10');
console.log('sent by pg:            ', JSON.stringify(seen.pg), 'connects within', seen.pgConnectionTimeoutMillis, '(0: no limit)');
console.log('sent by postgres:      ', JSON.stringify(seen.postgres));
const isSame = JSON.stringify(seen) === JSON.stringify(expected);
console.log(isSame ? 'As described.' : 'This has changed.');
process.exit(isSame ? 0 : 1);
JS
node run.mjs

#!/usr/bin/env bash
# What SET and LISTEN do behind PgBouncer in transaction mode.
#
# Expected: a setting either belongs to the client that made it, or it is rejected or forgotten.
#
# Seen: it depends on the setting. TimeZone, DateStyle, client_encoding, standard_conforming_strings, and application_name
# follow their client from one server connection to the next. All others, such as statement_timeout, lock_timeout, and
# search_path, stay in the server connection, where they apply to whoever uses it next. LISTEN succeeds, too, and
# notifications go to whichever client is using that connection at the moment, also one that has never listened.
#
# What follows: a test with TimeZone or application_name suggests that SET works. Set the others with ALTER ROLE … SET, or
# with SET LOCAL in each transaction, and use a direct connection for LISTEN.
#
# Needs Debian's packages postgresql-15 (or set BIN) and pgbouncer. Run it as root or as an unprivileged user.
set -euo pipefail
BIN=${BIN:-/usr/lib/postgresql/15/bin}
folder=$(mktemp -d)
as=()
if [ "$(id -u)" = 0 ]; then
  as=(setpriv --reuid=postgres --regid=postgres --init-groups)
  chown postgres "$folder"
fi
cd "$folder"
end() {
  if [ -f pgbouncer.pid ]; then kill "$(cat pgbouncer.pid)" || true; fi
  "${as[@]}" "$BIN/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$folder"
}
trap end EXIT
"${as[@]}" "$BIN/initdb" -D data -U me -A trust >/dev/null
# No ports: only sockets in the folder.
"${as[@]}" "$BIN/pg_ctl" -D data -w -l data/log -o "-c listen_addresses= -c unix_socket_directories=$folder -c timezone=UTC" start >/dev/null
echo '"me" ""' > userlist.txt
cat > pgbouncer.ini <<INI
[databases]
postgres = host=$folder port=5432
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = $folder
auth_type = trust
auth_file = $folder/userlist.txt
pidfile = $folder/pgbouncer.pid
logfile = $folder/pgbouncer.log
pool_mode = transaction
default_pool_size = 1
INI
"${as[@]}" pgbouncer -q -d pgbouncer.ini
until [ -S .s.PGSQL.6432 ]; do sleep 0.1; done
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund pg@8.23.1
cat > run.mjs <<'JS'
import { execFileSync } from 'node:child_process';
import pg from 'pg';

async function open(port) {
  const client = new pg.Client({ host: process.cwd(), port, user: 'me', database: 'postgres' });
  await client.connect();
  client.heard = [];
  client.on('notification', ({ payload }) => client.heard.push(payload));
  return client;
}
const shown = async (client) => {
  const { rows } = await client.query(
    `SELECT current_setting('TimeZone') || ', ' || current_setting('statement_timeout') AS shown`,
  );
  return rows[0].shown;
};
const [a, b] = [await open(6432), await open(6432)];
const seen = { 'a and b before': `${await shown(a)}; ${await shown(b)}` };
await a.query(`SET TimeZone = 'Asia/Tokyo'`);
await a.query(`SET statement_timeout = '5s'`);
await a.query('LISTEN orders');
seen['a, which set both'] = await shown(a);
seen['b, which set none'] = await shown(b);
await b.query(`SET statement_timeout = '1min'`);
seen['a, after b set one'] = await shown(a);
await b.query(`NOTIFY orders, 'first'`);
await b.query('SELECT 1');
await a.query('SELECT 1');
await a.query(`NOTIFY orders, 'second'`);
await a.query('SELECT 1');
await b.query('SELECT 1');
seen['a, which listens, hears'] = a.heard.join();
seen['b, which doesn’t, hears'] = b.heard.join();
await Promise.all([a.end(), b.end()]);
const [version] = execFileSync('pgbouncer', ['--version']).toString().split('\n');
console.log(`${version}, pg 8.23.1, Node`, process.versions.node);
console.log(seen);
const expected = {
  'a and b before': 'UTC, 0; UTC, 0',
  'a, which set both': 'Asia/Tokyo, 5s',
  'b, which set none': 'UTC, 5s',
  'a, after b set one': 'Asia/Tokyo, 1min',
  'a, which listens, hears': 'second',
  'b, which doesn’t, hears': 'first',
};
const isSame = version === 'PgBouncer 1.18.0' && JSON.stringify(seen) === JSON.stringify(expected);
console.log(isSame ? 'As described.' : 'This has changed.');
process.exit(isSame ? 0 : 1);
JS
node run.mjs

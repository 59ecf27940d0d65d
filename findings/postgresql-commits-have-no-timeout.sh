#!/usr/bin/env bash
# PostgreSQL's timeouts while a commit waits for a synchronous standby.
#
# Expected: with `statement_timeout = '200ms'`, no statement takes longer, a canceled statement changes nothing, and only
# statements that change something wait for the standby.
#
# Seen: the timeout ends before the commit begins. While the standby is away, an INSERT waits until someone cancels it,
# and so do a COMMIT and a SELECT … FOR UPDATE that changes no column. A canceled INSERT then succeeds: the client gets
# `INSERT 0 1` with a warning, and everyone sees the row, although no standby has it. A terminated INSERT fails, and
# everyone sees its row, too.
#
# What follows: a server that waits for its standby uses up connections no matter which timeouts are set. Give up in the
# client, and treat the result as unknown. Don't cancel such statements to clean up if a write must be on two machines:
# canceling them acknowledges them.
#
# Needs Debian's package postgresql-15 (or set BIN). Run it as root or as an unprivileged user.
set -euo pipefail
BIN=${BIN:-/usr/lib/postgresql/15/bin}
folder=$(mktemp -d)
as=()
if [ "$(id -u)" = 0 ]; then
  as=(setpriv --reuid=postgres --regid=postgres --init-groups)
  chown postgres "$folder"
fi
cd "$folder"
trap '"${as[@]}" "$BIN/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null 2>&1 || true; rm -rf "$folder"' EXIT
"${as[@]}" "$BIN/initdb" -D data -U me -A trust >/dev/null
# No port: only a socket in the folder.
"${as[@]}" "$BIN/pg_ctl" -D data -w -l data/log -o "-c listen_addresses= -c unix_socket_directories=$folder" start >/dev/null
run() { "$BIN/psql" -X -A -t -h "$folder" -U me -d postgres "$@"; }
run -q -c 'CREATE TABLE t (name text)' -c "INSERT INTO t VALUES ('locked')" \
  -c "ALTER SYSTEM SET synchronous_standby_names = 'away'" -c 'SELECT pg_reload_conf()' >/dev/null
until [ "$(run -c 'SHOW synchronous_standby_names')" = away ]; do sleep 0.1; done

# Runs statements with a timeout of 200 ms, ends them if they still wait after two seconds, and prints what the client got.
waits() {
  local how=$1 result waited
  shift
  run -c "SET statement_timeout = '200ms'" "$@" >result 2>&1 &
  waited=$!
  while kill -0 $waited 2>/dev/null; do
    run -c "SELECT $how(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND now() - query_start > '2 s'" >/dev/null
    sleep 0.1
  done
  wait $waited && result=success || result=failure
  echo "$result: $(grep -v -e '^SET$' -e '^DETAIL' -e '^server closed' -e '^	' -e '^connection to server' result | paste -sd '|')"
}
seen="a long SELECT     $(waits pg_cancel_backend -c 'SELECT pg_sleep(1)')
canceled INSERT   $(waits pg_cancel_backend -c "INSERT INTO t VALUES ('canceled')")
canceled COMMIT   $(waits pg_cancel_backend -c 'BEGIN' -c "INSERT INTO t VALUES ('committed')" -c COMMIT)
a lock            $(waits pg_cancel_backend -c "SELECT name FROM t WHERE name = 'locked' FOR UPDATE")
terminated INSERT $(waits pg_terminate_backend -c "INSERT INTO t VALUES ('terminated')")
rows afterward    $(run -c 'SELECT name FROM t' | paste -sd ' ')"
warning='WARNING:  canceling wait for synchronous replication due to user request'
expected="a long SELECT     failure: ERROR:  canceling statement due to statement timeout
canceled INSERT   success: $warning|INSERT 0 1
canceled COMMIT   success: BEGIN|INSERT 0 1|$warning|COMMIT
a lock            success: $warning|locked
terminated INSERT failure: WARNING:  canceling the wait for synchronous replication and terminating connection due to administrator command
rows afterward    locked canceled committed terminated"
version=$("$BIN/postgres" --version)
echo "$version"
echo "$seen"
[[ $version = *' 15.'* && $seen = "$expected" ]] && echo 'As described.' || { echo 'This has changed.'; exit 1; }

#!/usr/bin/env bash
# Settings of PostgreSQL that Patroni leaves out without a word.
#
# Expected: what stands in `postgresql.parameters` of a node's file reaches PostgreSQL, as the setting next to it does, or
# is rejected, at least by `--validate-config`. If it isn't there, ALTER SYSTEM and a restart set it.
#
# Seen: `work_mem` arrives. `max_connections` and `max_wal_senders` don't, and neither the log nor the validation mentions
# them: Patroni passes both as arguments to PostgreSQL, from the cluster's shared settings or, if they aren't there, with
# its own values. An argument outranks every file, so ALTER SYSTEM reports success, and changes nothing, not even with a
# restart. In the shared settings, `max_connections: 20` is accepted with status 200 and left out, too, because Patroni
# takes only 25 or more.
#
# What follows: put these settings into the cluster's shared settings, with `patronictl edit-config`, and look at
# `pg_settings` afterward: there, their source is "command line". The others are max_locks_per_transaction,
# max_prepared_transactions, max_replication_slots, max_worker_processes, track_commit_timestamp, and wal_level.
#
# Needs Debian's packages patroni, etcd-server, and postgresql-15 (or set BIN). Run it as root or as an unprivileged user.
set -euo pipefail
BIN=${BIN:-/usr/lib/postgresql/15/bin}
folder=$(mktemp -d)
as=()
if [ "$(id -u)" = 0 ]; then
  as=(setpriv --reuid=postgres --regid=postgres --init-groups)
  chown postgres "$folder"
fi
cd "$folder"
started=()
end() {
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" || true; done
  "${as[@]}" "$BIN/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$folder"
}
trap end EXIT
free_ports() { python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
print(*[one.getsockname()[1] for one in sockets])'; }
read -r etcd peer rest postgres < <(free_ports)
"${as[@]}" etcd --data-dir "$folder/etcd" --listen-client-urls "http://127.0.0.1:$etcd" \
  --advertise-client-urls "http://127.0.0.1:$etcd" --listen-peer-urls "http://127.0.0.1:$peer" \
  --initial-advertise-peer-urls "http://127.0.0.1:$peer" --initial-cluster "default=http://127.0.0.1:$peer" >etcd.log 2>&1 &
started+=($!)
cat > patroni.yml <<YML
scope: demo
name: node
restapi: { listen: '127.0.0.1:$rest', connect_address: '127.0.0.1:$rest' }
etcd3: { hosts: ['127.0.0.1:$etcd'] }
bootstrap:
  dcs: { loop_wait: 1, ttl: 20, retry_timeout: 3 }
postgresql:
  listen: 127.0.0.1:$postgres
  connect_address: 127.0.0.1:$postgres
  data_dir: $folder/data
  bin_dir: $BIN
  pgpass: $folder/pgpass
  authentication:
    superuser: { username: postgres, password: example }
    replication: { username: replicator, password: example }
  parameters:
    unix_socket_directories: '$folder'
    work_mem: 8MB
    max_connections: 300
    max_wal_senders: 30
YML
validation=$("${as[@]}" patroni --validate-config patroni.yml 2>&1 | grep -icE 'max_connections|max_wal_senders' || true)
"${as[@]}" patroni patroni.yml >patroni.log 2>&1 &
started+=($!)
until curl -fso /dev/null "http://127.0.0.1:$rest/primary"; do sleep 0.2; done
run() { "$BIN/psql" -X -A -t -h "$folder" -p "$postgres" -U postgres -d postgres "$@"; }
settings() {
  run -c "SELECT string_agg(name || '=' || current_setting(name) || ' (' || source || ')', ' ' ORDER BY name)
    FROM pg_settings WHERE name IN ('max_connections', 'max_wal_senders', 'work_mem')"
}
seen="from the node's file: $(settings)"
altered=$(run -c 'ALTER SYSTEM SET max_connections = 300' -c "ALTER SYSTEM SET work_mem = '16MB'" | paste -sd ' ')
altered+=", restart: $(curl -s -X POST -d '{}' "http://127.0.0.1:$rest/restart")"
until run -c 'SHOW work_mem' 2>/dev/null | grep -q 16MB; do sleep 0.2; done
status=$(curl -so /dev/null -w '%{http_code}' -X PATCH -d '{"postgresql":{"parameters":{"max_connections":20,"log_min_duration_statement":7}}}' "http://127.0.0.1:$rest/config")
until run -c 'SHOW log_min_duration_statement' | grep -q 7ms; do sleep 0.2; done
seen+="
ALTER SYSTEM:         $altered: $(settings)
shared settings:      $status: $(settings), pending restart: $(curl -s "http://127.0.0.1:$rest/patroni" | grep -c pending_restart || true)
lines about it:       $validation in the validation, $(grep -cE ',[0-9]{3} [A-Z]+: .*(max_connections|max_wal_senders)' patroni.log || true) in its log"
same='max_connections=100 (command line) max_wal_senders=10 (command line)'
expected="from the node's file: $same work_mem=8MB (configuration file)
ALTER SYSTEM:         ALTER SYSTEM ALTER SYSTEM, restart: restarted successfully: $same work_mem=16MB (configuration file)
shared settings:      200: $same work_mem=16MB (configuration file), pending restart: 0
lines about it:       0 in the validation, 0 in its log"
version="$(patroni --version), $("$BIN/postgres" --version)"
echo "$version"
echo "$seen"
[[ $version = 'patroni 3.0.2, '*' 15.'* && $seen = "$expected" ]] && echo 'As described.' || { echo 'This has changed.'; exit 1; }

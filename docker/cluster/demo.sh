#!/usr/bin/env bash
# demo.sh PGBLEND: a coordinator with three shards behind pgbouncer; one of them stops, and comes back.
#
# Four servers and a gateway in a folder that goes away at the end, on ports from PGBLEND_DEMO_PORT
# (55430). Needs PostgreSQL with PL/Proxy, and pgbouncer: make demo-cluster installs them, as root.
set -euo pipefail
cd "$(dirname "$0")/../.."

pgblend=$1
first=${PGBLEND_DEMO_PORT:-55430}
pooler=$((first + 9))
gateway=$((first + 8))
gateway_process=
bin=${PGBLEND_POSTGRESQL_BIN:-$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin | sort -V | tail -n 1)}
folder=$(mktemp -d)
password=$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')
names=(search b1 b2 b3) # the coordinator's database, then one for each shard

step() { printf '\n== %s\n' "$*"; }
as_server() { # servers do not run as root
    if [ "$(id -u)" = 0 ]; then (cd / && runuser -u postgres -- "$@"); else "$@"; fi
}
url() { printf 'postgresql://demo:%s@127.0.0.1:%s/%s' "$password" "$((first + $1))" "${names[$1]}"; }
at_coordinator() { "$pgblend" --database-url "$(url 0)" "$@"; }
start() { as_server "$bin/pg_ctl" -D "$folder/${names[$1]}" -l "$folder/${names[$1]}.log" -w -s start; }
stop() { as_server "$bin/pg_ctl" -D "$folder/${names[$1]}" -m fast -w -s stop; }

finish() {
    [ -z "$gateway_process" ] || kill "$gateway_process" 2>/dev/null || true
    [ ! -f "$folder/bouncer.pid" ] || kill "$(cat "$folder/bouncer.pid")" 2>/dev/null || true
    for number in "${!names[@]}"; do stop "$number" 2>/dev/null || true; done
    rm -rf "$folder"
}
trap finish EXIT

step "four servers, which ask for passwords, and pgbouncer (transaction mode) before three of them"
[ "$(id -u)" != 0 ] || chown postgres "$folder"
as_server tee "$folder/password" <<<"$password" >/dev/null
for number in "${!names[@]}"; do
    as_server "$bin/initdb" -D "$folder/${names[$number]}" -U demo --pwfile "$folder/password" \
        --auth=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8 --no-sync >/dev/null
    as_server tee -a "$folder/${names[$number]}/postgresql.conf" >/dev/null <<EOF
port = $((first + number))
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_buffers = 64MB
fsync = off  # of a demonstration
EOF
    start "$number"
    PGPASSWORD=$password "$bin/createdb" -h 127.0.0.1 -p "$((first + number))" -U demo "${names[$number]}"
done
as_server tee "$folder/users" <<<"\"demo\" \"$password\"" >/dev/null
as_server tee "$folder/bouncer.ini" >/dev/null <<EOF
[databases]
b1 = host=127.0.0.1 port=$((first + 1))
b2 = host=127.0.0.1 port=$((first + 2))
b3 = host=127.0.0.1 port=$((first + 3))
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $pooler
unix_socket_dir =
auth_type = scram-sha-256
auth_file = $folder/users
pool_mode = transaction
default_pool_size = 4
server_login_retry = 1
query_wait_timeout = 3
logfile = $folder/bouncer.log
pidfile = $folder/bouncer.pid
EOF
as_server "$(command -v pgbouncer || echo /usr/sbin/pgbouncer)" -q -d "$folder/bouncer.ini"

step "pgblend shards add: the coordinator learns of its shards"
for number in "${!names[@]}"; do "$pgblend" --database-url "$(url "$number")" migrate up; done
at_coordinator shards add --pooler "127.0.0.1:$pooler" "b1=$(url 1)" "b2=$(url 2)" "b3=$(url 3)"

pages=$folder/pages
mkdir "$pages"
if docker/manual.sh "$pages"; then
    query='VACUUM FREEZE'
else
    cp docs/*.md "$pages"
    query='embedding space'
fi
step "pgblend gateway: a model that runs here; the coordinator asks it for vectors"
"$pgblend" gateway --port "$gateway" --preload --ready-file "$folder/gateway.json" 2>"$folder/gateway.log" &
gateway_process=$!
for _ in {1..60}; do [ ! -s "$folder/gateway.json" ] || break; sleep 1; done
at_coordinator config set gateway_url "http://127.0.0.1:$gateway"

step "pgblend ingest: each document comes to its shard, with vectors"
at_coordinator ingest "$pages" --collection manual
at_coordinator shards status

ask() { at_coordinator query "$query" -n 3 --collection manual 2>&1; }
step "pgblend query: $query"
ask
step "shard b2 is stopped: what is missing is told"
stop 2
ask || true
step "shard b2 is back: as soon as it is asked again, everything is there"
start 2
for _ in {1..60}; do
    if said=$(ask) && ! grep -q shard <<<"$said"; then break; fi
    sleep 1
done
printf '%s\n' "$said"
at_coordinator shards check

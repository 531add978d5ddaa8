#!/usr/bin/env bash
# Entry point of the database image: make the cluster, migrate it, then become PostgreSQL.
#
# PGBLEND_PASSWORD     password of the superuser pgblend; without it a random one is made at the
#                      first start and kept in /var/lib/pgblend/pgpass
# PGBLEND_GATEWAY_URL  where the model gateway listens, such as unix:/run/pgblend/gateway.sock
#
# Options are PostgreSQL's:                 docker run … pgblend-database -c work_mem=64MB
# Anything else is a command, run instead:  docker run … pgblend-database pgblend --version
set -euo pipefail

[[ ${1:--} == -* ]] || exec "$@"

port=5432
data=$PGBLEND_DATA_DIR/postgres
password_file=$PGBLEND_DATA_DIR/pgpass
say() { printf 'entrypoint: %s\n' "$*" >&2; }

# Process 1 gets no signal that it does not handle, and bash handles none while a program runs in
# the foreground.
run() { "$@" <&0 & wait $!; }
stop() {
    trap '' INT TERM
    say "stopped while starting"
    kill "$(jobs -p)" 2>/dev/null && wait
    pgblend down
    exit "$1"
}
trap 'stop 130' INT
trap 'stop 143' TERM

set_password() {
    if [[ $PGBLEND_PASSWORD == *[:\\]* ]]; then
        say "PGBLEND_PASSWORD must not contain ':' or '\\'" && exit 1
    fi
    local line="*:*:*:pgblend:$PGBLEND_PASSWORD"
    [ "$line" != "$(cat "$password_file")" ] || return 0
    run pgblend psql -q -v ON_ERROR_STOP=1 -v password="$PGBLEND_PASSWORD" <<<"ALTER ROLE pgblend PASSWORD :'password'"
    (umask 077 && printf '%s\n' "$line" >"$password_file.new")
    mv "$password_file.new" "$password_file"
    say "password set from PGBLEND_PASSWORD"
}

let_network_in() {
    grep -q '^host all all all ' "$data/pg_hba.conf" || echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
}

# A server for this machine only, while the schema may be changing.
run pgblend up --no-gateway --port "$port" >/dev/null
[ -z "${PGBLEND_PASSWORD:-}" ] || set_password
[ -z "${PGBLEND_GATEWAY_URL:-}" ] || run pgblend config set gateway_url "$PGBLEND_GATEWAY_URL"
let_network_in
run pgblend down

unset PGBLEND_PASSWORD
programs=$(ls -d /usr/lib/postgresql/"$(cat "$data/PG_VERSION")"/bin)
# The lock that a server holds for its whole life (cli/server/lock.py).
exec 9>>"$PGBLEND_DATA_DIR/server.lock"
flock --timeout 5 9 || { say "another server works in $data, in another container" && exit 1; }
# PL/Python takes the first python3 on the PATH for its own: the system's, not pgblend's.
PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin
exec "$programs/postgres" -D "$data" -c listen_addresses='*' -c port="$port" -c logging_collector=off "$@"

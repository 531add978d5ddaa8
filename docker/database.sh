#!/usr/bin/env bash
# Entry point of the database image: make the cluster, migrate it, then become PostgreSQL.
#
# PGBLEND_PASSWORD       password of the role pgblend_application, a member of pgblend_admin
# PGBLEND_SERVE_PASSWORD password of the role pgblend_door, for pgblend serve
# PGBLEND_LOG_PASSWORD   password of the role pgblend_log, for the gateway's log of searches and calls
# PGBLEND_GATEWAY_URL    where the model gateway listens, such as unix:/run/pgblend/gateway.sock
#
# Each password may be in a file instead, that PGBLEND_PASSWORD_FILE and so on name. A role whose
# password is not given is not made; pg_hba.conf says who may log in.
#
# Options are PostgreSQL's:                 docker run … pgblend-database -c work_mem=64MB
# Anything else is a command, run instead:  docker run … pgblend-database pgblend --version
set -euo pipefail

[[ ${1:--} == -* ]] || exec "$@"

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR
. "$here/secrets.sh"
port=5432
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

# Data of another major version stay as they are, and nobody gets an empty database instead.
refuse_other_majors() {
    local other
    [ ! -e "$data/PG_VERSION" ] || return 0
    for other in "$volume"/postgres "$volume"/[0-9][0-9]/postgres; do
        [ -e "$other/PG_VERSION" ] || continue
        say "PostgreSQL $(cat "$other/PG_VERSION") has its data in $other, and this image has PostgreSQL $major," \
            "whose place is $data. Take them over as docs/operate.md says (\"Images\")"
        exit 1
    done
}

# The role is made at its first password; again sets the password alone.
set_login() {
    local role=$1 attributes=$2 group=$3
    [ -n "$4" ] || return 0
    NEW_PASSWORD=$4 run pgblend psql -q -v ON_ERROR_STOP=1 -v role="$role" -v attributes="$attributes" -v group="$group" <<'SQL'
\getenv password NEW_PASSWORD
SELECT format('CREATE ROLE %I LOGIN %s', :'role', :'attributes')
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = :'role') \gexec
GRANT :"group" TO :"role";
ALTER ROLE :"role" PASSWORD :'password';
SQL
}

set_gateway() {
    [ -n "${PGBLEND_GATEWAY_URL:-}" ] || return 0
    run pgblend config set gateway_url "$PGBLEND_GATEWAY_URL"
    [[ $PGBLEND_GATEWAY_URL != unix:* ]] || run pgblend config set log_address "$PGBLEND_GATEWAY_URL.log"
}

programs=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin | sort -V | tail -n 1)
major=$(basename "$(dirname "$programs")")
volume=$PGBLEND_DATA_DIR
export PGBLEND_DATA_DIR=$volume/$major
data=$PGBLEND_DATA_DIR/postgres
refuse_other_majors
password=$(secret PGBLEND_PASSWORD)
serve_password=$(secret PGBLEND_SERVE_PASSWORD)
log_password=$(secret PGBLEND_LOG_PASSWORD)
unset PGBLEND_PASSWORD PGBLEND_SERVE_PASSWORD PGBLEND_LOG_PASSWORD

# A server for this machine only, while the schema may be changing; commands find it by themselves.
sockets=$PGHOST
unset PGBLEND_DATABASE_URL PGHOST PGUSER PGDATABASE
run pgblend up --no-gateway --port "$port" >/dev/null
set_login pgblend_application INHERIT pgblend_admin "$password"
set_login pgblend_door NOINHERIT pgblend_serve "$serve_password"
set_login pgblend_log INHERIT pgblend_gateway "$log_password"
set_gateway
run pgblend down

# The lock that a server holds for its whole life (cli/operate/postmaster.py).
exec 9>>"$PGBLEND_DATA_DIR/server.lock"
flock --timeout 5 9 || { say "another server works in $data, in another container" && exit 1; }
# PL/Python takes the first python3 on the PATH for its own: the system's, not pgblend's.
PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin
exec "$programs/postgres" -D "$data" -c listen_addresses='*' -c port="$port" -c logging_collector=off \
    -c unix_socket_directories="$sockets" -c hba_file="$here/pg_hba.conf" -c ident_file="$here/pg_ident.conf" "$@"

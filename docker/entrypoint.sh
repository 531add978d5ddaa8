#!/usr/bin/env bash
# Entry point of the database image: make the cluster, migrate it, then become PostgreSQL.
#
# PGBLEND_PASSWORD     password of the superuser pgblend; without it a random one is made at the
#                      first start and kept in /var/lib/pgblend/pgpass
# PGBLEND_GATEWAY_URL  where the model gateway listens, such as unix:/run/pgblend/gateway.sock
# Arguments are PostgreSQL's: docker run … pgblend-database -c work_mem=64MB
set -euo pipefail

port=5432
data=$PGBLEND_DATA_DIR/postgres
password_file=$PGBLEND_DATA_DIR/pgpass
say() { printf 'entrypoint: %s\n' "$*" >&2; }

set_password() {
    if [[ $PGBLEND_PASSWORD == *[:\\]* ]]; then
        say "PGBLEND_PASSWORD must not contain ':' or '\\'" && exit 1
    fi
    local line="*:*:*:pgblend:$PGBLEND_PASSWORD"
    [ "$line" != "$(cat "$password_file")" ] || return 0
    pgblend psql -q -v ON_ERROR_STOP=1 -v password="$PGBLEND_PASSWORD" <<<"ALTER ROLE pgblend PASSWORD :'password'"
    (umask 077 && printf '%s\n' "$line" >"$password_file.new")
    mv "$password_file.new" "$password_file"
    say "password set from PGBLEND_PASSWORD"
}

let_network_in() {
    grep -q '^host all all all ' "$data/pg_hba.conf" || echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
}

# A server for this machine only, while the schema may be changing.
pgblend up --no-gateway --port "$port" >/dev/null
[ -z "${PGBLEND_PASSWORD:-}" ] || set_password
[ -z "${PGBLEND_GATEWAY_URL:-}" ] || pgblend config set gateway_url "$PGBLEND_GATEWAY_URL"
let_network_in
pgblend down

unset PGBLEND_PASSWORD
programs=$(ls -d /usr/lib/postgresql/"$(cat "$data/PG_VERSION")"/bin)
exec "$programs/postgres" -D "$data" -c listen_addresses='*' -c port="$port" -c logging_collector=off "$@"

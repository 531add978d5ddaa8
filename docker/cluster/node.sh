#!/usr/bin/env bash
# node.sh server | pooler | shards NAME…: what a container of the cluster runs.
#
# server  a primary, or a standby of the host PGBLEND_PRIMARY
# pooler  pgbouncer before the shards
# shards  makes the host `coordinator` the coordinator of the shards NAME…, once; again changes nothing
#
# PGBLEND_PASSWORD_FILE has the password of the owner pgblend, the same for all of them.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
password=$(cat "$PGBLEND_PASSWORD_FILE")
data=$PGBLEND_DATA_DIR/postgres
unset PGHOST PGUSER PGDATABASE PGBLEND_DATABASE_URL
if [[ $password == *[!A-Za-z0-9._-]* || -z $password ]]; then
    echo "node.sh: the password stands in URLs: letters, digits, . _ - alone, at least one" >&2
    exit 1
fi

serve() {
    local programs
    programs=$(dirname "$(find /usr/lib/postgresql -mindepth 3 -maxdepth 3 -path '*/bin/postgres')")
    if [ -n "${PGBLEND_PRIMARY:-}" ]; then
        copy_primary "$programs"
    else
        make_primary
    fi
    # PL/Python takes the first python3 on the PATH for its own: the system's, not pgblend's.
    PATH=/usr/sbin:/usr/bin:/sbin:/bin
    exec "$programs/postgres" -D "$data" -c listen_addresses='*' -c port=5432 -c logging_collector=off \
        -c unix_socket_directories=/run/postgresql -c hba_file="$here/pg_hba.conf" -c ident_file="$here/pg_ident.conf"
}

make_primary() {
    pgblend up --no-gateway --port 5432 >/dev/null
    pgblend psql -q -v ON_ERROR_STOP=1 <<<"ALTER ROLE pgblend PASSWORD '$password'"
    (umask 077 && printf '*:*:*:pgblend:%s\n' "$password" >"$PGBLEND_DATA_DIR/pgpass.new")
    mv "$PGBLEND_DATA_DIR/pgpass.new" "$PGBLEND_DATA_DIR/pgpass"
    pgblend down
}

# Half a copy is thrown away; the slot keeps what a standby that is down has not had.
copy_primary() {
    [ ! -e "$data/PG_VERSION" ] || return 0
    rm -rf "$data.new"
    PGPASSWORD=$password "$1/pg_basebackup" --dbname="host=$PGBLEND_PRIMARY user=pgblend dbname=pgblend" \
        --pgdata="$data.new" --write-recovery-conf --wal-method=stream --checkpoint=fast
    mv "$data.new" "$data"
}

pool() {
    (umask 077 && printf '"pgblend" "%s"\n' "$password" >/tmp/pgbouncer.users)
    exec /usr/sbin/pgbouncer "$here/pgbouncer.ini"
}

add_shards() {
    local name urls=()
    for name in "$@"; do urls+=("$name=postgresql://pgblend:$password@$name:5432/pgblend"); done
    exec pgblend --database-url "postgresql://pgblend:$password@coordinator:5432/pgblend" \
        shards add --pooler pooler:6432 "${urls[@]}"
}

case ${1:-} in
    server) serve ;;
    pooler) pool ;;
    shards) add_shards "${@:2}" ;;
    *) exec "$@" ;;
esac

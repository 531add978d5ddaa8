#!/usr/bin/env bash
# demo_managed.sh PGBLEND: hybrid search on a server without PL/Python, 1 ms away, by an owner who has no rights there.
#
# The server, a proxy that delays, a gateway, a worker, serve and a door are in a folder that goes away at the
# end, on six ports from PGBLEND_DEMO_PORT (25450). PGBLEND_DEMO_PAGES=3 takes so many pages of the manual.
set -euo pipefail
cd "$(dirname "$0")/.."

pgblend=$1
first=${PGBLEND_DEMO_PORT:-25450}
gateway=$((first + 2)) serve=$((first + 3)) door=$((first + 4))
python=$(dirname "$pgblend")/python
installed=${PGBLEND_POSTGRESQL_BIN:-$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin | sort -V | tail -n 1)}
folder=$(mktemp -d)
started=()

step() { printf '\n== %s\n' "$*"; }
as_server() { # servers do not run as root
    if [ "$(id -u)" = 0 ]; then (cd / && runuser -u postgres -- "$@"); else "$@"; fi
}
administrator() { PGPASSWORD=cloud "$bin/psql" -h 127.0.0.1 -p "$first" -U cloud -q -v ON_ERROR_STOP=1 "$@"; }
beside() { # NAME COMMAND …: run beside the others until its file says that it is ready
    "$pgblend" "${@:2}" --ready-file "$folder/$1.json" 2>"$folder/$1.log" &
    started+=($!)
    for _ in {1..120}; do [ ! -s "$folder/$1.json" ] || return 0; sleep 0.5; done
    cat "$folder/$1.log" >&2
    return 1
}
finish() {
    for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
    as_server "$bin/pg_ctl" -D "$folder/data" -m fast -w -s stop 2>/dev/null || true
    wait
    rm -rf "$folder"
}
trap finish EXIT

step "a server of a cloud: a copy of PostgreSQL without PL/Python's files"
# PostgreSQL finds its folders from where its programs are.
chmod 755 "$folder"
for one in bindir pkglibdir sharedir; do
    from=$("$installed/pg_config" --$one)
    mkdir -p "$folder/server$from"
    cp -r "$from/." "$folder/server$from"
done
find "$folder/server" -name '*plpython*' -delete
bin=$folder/server$("$installed/pg_config" --bindir)
[ "$(id -u)" != 0 ] || chown postgres "$folder"
as_server tee "$folder/password" <<<cloud >/dev/null
as_server "$bin/initdb" -D "$folder/data" -U cloud --pwfile "$folder/password" \
    --auth=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8 --no-sync >/dev/null
as_server tee -a "$folder/data/postgresql.conf" >/dev/null <<CONF
port = $first
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off  # of a demonstration
CONF
as_server "$bin/pg_ctl" -D "$folder/data" -l "$folder/server.log" -w -s start ||
    { cat "$folder/server.log" >&2 && exit 1; }
administrator -d postgres -c "CREATE ROLE anna LOGIN PASSWORD 'secret'" -c "CREATE DATABASE app OWNER anna"
administrator -d app -At -c "SELECT 'PL/Python here: ' || count(*) FROM pg_available_extensions WHERE name ~ 'plpython'"

step "every trip to it takes 1 ms more"
"$python" tests/benchmarks/delaying_proxy.py 127.0.0.1 "$first" 1 >"$folder/proxy" &
started+=($!)
for _ in {1..60}; do [ ! -s "$folder/proxy" ] || break; sleep 0.5; done
place=127.0.0.1:$(cat "$folder/proxy")
export PGBLEND_DATABASE_URL=postgresql://anna:secret@$place/app

step "pgblend migrate up --managed: anna may make no roles, so the administrator runs the lines that it prints"
"$pgblend" migrate up --managed 2>&1 | tee "$folder/told" || true
sed -n 's/^\(hint: \)\?\(.*;\)$/\2/p' "$folder/told" | administrator -d app
"$pgblend" migrate up --managed

step "pgblend gateway: a model that runs here; pgblend worker does what others' writing leaves"
beside gateway gateway --port "$gateway" --preload
"$pgblend" config set gateway_url "http://127.0.0.1:$gateway"
beside worker worker

pages=$folder/pages
mkdir "$pages"
if docker/manual.sh "$pages"; then
    question='how do I undo everything that my transaction did so far?'
    keyword='VACUUM FREEZE'
else
    cp docs/*.md "$pages"
    question='which role may read a collection?'
    keyword='embedding space'
fi
find "$pages" -type f | sort | tail -n "+$((${PGBLEND_DEMO_PAGES:-1000} + 1))" | xargs -r rm
step "pgblend ingest: the manual"
"$pgblend" ingest "$pages" --collection manual
for query in "$keyword" "$question"; do
    step "pgblend query: $query"
    "$pgblend" query "$query" -n 3 --collection manual
done

step "pgblend table attach: a table of anna's is searched as well, and her later rows at once"
"$pgblend" psql -q <<'SQL'
CREATE TABLE tickets (id integer PRIMARY KEY, customer text, subject text, body text);
INSERT INTO tickets VALUES
    (1, 'Ada', 'Late parcel', 'My parcel from Oslo came three weeks late, and wet.'),
    (2, 'Bert', 'Wrong size', 'The boots are two sizes too small for my feet.');
SQL
"$pgblend" table attach tickets --text body --title subject --collection tickets
"$pgblend" psql -q -c "INSERT INTO tickets VALUES (3, 'Cleo', 'Broken cup', 'The glaze of the teapot has a crack.')"
"$pgblend" query 'teapot' -n 1 --collection tickets
"$pgblend" worker --drain

step "HTTP: pgblend serve, for a role that may read the tickets"
administrator -d app <<'SQL'
CREATE ROLE shop IN ROLE pgblend_reader;
GRANT shop TO anna;
CREATE ROLE web LOGIN NOINHERIT PASSWORD 'secret' IN ROLE pgblend_serve, shop;
SQL
"$pgblend" collection grant tickets shop
token=$("$pgblend" serve token make --role shop --name 'the shop')
beside serve serve --login-url "postgresql://web:secret@$place/app" --port "$serve"
"$python" - "http://127.0.0.1:$serve/v1/search" "$token" <<'PYTHON'
import json
import sys
from urllib.request import Request, urlopen

asked = json.dumps({"query": "shoes that do not fit", "limit": 1}).encode()
headers = {"Authorization": f"Bearer {sys.argv[2]}", "Content-Type": "application/json"}
with urlopen(Request(sys.argv[1], asked, headers)) as answer:
    found = json.load(answer)["results"]
print([(hit["title"], hit["collection"]) for hit in found])
PYTHON

step "Python: pgblend.integrations over the same server"
"$python" - <<'PYTHON'
from pgblend.cli.search.statements import SearchRequest
from pgblend.integrations.client import Client

with Client() as client:
    hits = client.search(SearchRequest("delivery took too long", 1, ["tickets"], None, {}))
print([(hit["title"], hit["source_key"]) for hit in hits])
PYTHON

step "pgblend door: psql joins hits with the table that they come from"
beside door door --server "$place" --listen "127.0.0.1:$door" --server-tls off
PGPASSWORD=secret "$bin/psql" -h 127.0.0.1 -p "$door" -U anna app <<'SQL'
SELECT t.id, t.customer, h.title, round(h.score::numeric, 3) AS score
FROM hybrid_search('shoes that do not fit', 2, '{tickets}') AS h
INNER JOIN tickets AS t ON t.id = h.source_key::integer
ORDER BY h.rank;
SQL

#!/usr/bin/env bash
# demo.sh PGBLEND: from nothing to hybrid search over the SQL reference of the PostgreSQL manual.
set -euo pipefail
cd "$(dirname "$0")/.."

pgblend=$1
say() { printf '\n== %s\n' "$*"; }

say "pgblend up: a private PostgreSQL and the model gateway"
"$pgblend" up

pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
chmod 755 "$pages"
if docker/manual.sh "$pages"; then
    say "pgblend ingest: the SQL reference of the PostgreSQL manual"
    keyword='VACUUM FREEZE'
    question='how do I undo everything that my transaction did so far?'
    phrase='"row-level security" -trigger'
else
    say "pgblend ingest: Python's documentation strings (the manual is not to be had here)"
    "$pgblend" --version >/dev/null
    python3 docker/docstrings.py "$pages"
    keyword='TemporaryDirectory'
    question='how do I run a program and read what it prints?'
    phrase='"working directory" -signal'
fi
"$pgblend" ingest "$pages" --collection manual

for query in "$keyword" "$question" "$phrase"; do
    say "pgblend query: $query"
    "$pgblend" query "$query" -n 3 --collection manual
done

say "another language: words are found in each; what the vectors' model does not know is told"
mkdir "$pages/de"
cat >"$pages/de/sicherung.txt" <<'TEXT'
Jede Nacht wird die Datenbank gesichert. Die Kopien liegen dreißig Tage im Keller; wer eine davon
zurückspielen will, fragt zuerst die Bereitschaft.
TEXT
"$pgblend" ingest "$pages/de" --collection handbuch
"$pgblend" query 'Wie lange werden die Kopien der Datenbank gesichert?' -n 1 --collection handbuch

say "the same from any SQL client: SELECT … FROM hybrid_search('…')"
"$pgblend" psql -v query="$question" <<'SQL'
SELECT rank, round(score::numeric, 3) AS score, round(relevance::numeric, 3) AS relevance, title, arms
FROM hybrid_search(:'query', 3);
SQL
say "the same on a page: open this link in a browser, or run pgblend open"
"$pgblend" open --print
printf '\nMore: pgblend --help; pgblend psql; pgblend down stops the servers.\n'

#!/usr/bin/env bash
# fetch_pgvector.sh FOLDER LEAST SUITE…: unpack pgvector's source package of Debian into FOLDER.
#
# Takes the first of the suites whose package is of version LEAST or newer and can be had. apt checks
# signature and checksum. The system's package lists stay as they are: the suite's are kept in a
# folder that goes away. Exit code 1: none of them has it.
set -euo pipefail

me=provision
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

folder=$1
least=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
places=(-o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root)

read_suite() {
    echo "deb-src $mirror $1 main" >"$work/sources.list"
    apt-get "${places[@]}" -qq update >/dev/null 2>&1
}

newest() { apt-cache "${places[@]}" madison pgvector | cut -d '|' -f 2 | tr -d ' ' | sort -V | tail -n 1; }

download() { (cd "$work" && apt-get "${places[@]}" -qq source --download-only "pgvector=$1" >/dev/null 2>&1); }

# shellcheck disable=SC2016 # $(REPO_URI) is apt's to fill in
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' 2>/dev/null | head -n 1)
[ -n "$mirror" ] || fail "apt's sources name no Debian mirror to get pgvector's source from; elsewhere, as on Ubuntu," \
    "add the package repository of the PostgreSQL project (PGDG), which has pgvector, and run this again"

for suite in "$@"; do
    read_suite "$suite" || { say "$mirror has no Debian $suite that apt accepts" && continue; }
    version=$(newest)
    at_least "${version:-0}" "$least" || continue
    if download "$version"; then
        say "unpacking pgvector $version of Debian $suite"
        mkdir -p "$folder"
        tar -xf "$work"/pgvector_*.orig.tar.* -C "$folder" --strip-components=1
        exit
    fi
    say "$mirror does not give pgvector $version of Debian $suite"
done
fail "no source of pgvector $least or newer in Debian $*"

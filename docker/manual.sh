#!/usr/bin/env bash
# manual.sh DIR: put the SQL reference pages (HTML) of the PostgreSQL manual into DIR.
#
# From an installed postgresql-doc-NN, else from that package, which is downloaded and unpacked but
# not installed: that needs no root, and minimal images leave documentation out when they install.
# Exit code 1, with the reason, where neither is to be had.
set -euo pipefail

me=manual
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

target=${1:?usage: manual.sh DIR}
mkdir -p "$target"
target=$(cd "$target" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

newest_pages() { # below this folder
    { ls -d "$1"/usr/share/doc/postgresql-doc-*/html 2>/dev/null || true; } | sort -V | tail -n 1
}

newest_package() {
    apt-cache pkgnames postgresql-doc- | grep -E '^postgresql-doc-[0-9]+$' | sort -V | tail -n 1
}

unpack_package() {
    local package
    command -v apt-get >/dev/null || fail "there is no apt-get here to fetch postgresql-doc with"
    package=$(newest_package) || true
    if [ -z "$package" ] && [ "$(id -u)" = 0 ]; then
        apt update
        package=$(newest_package) || true
    fi
    [ -n "$package" ] || fail "apt knows no package postgresql-doc-NN (as root: apt-get update)"
    say "fetching the package $package"
    (cd "$work" && apt download "$package")
    dpkg-deb -x "$work"/*.deb "$work/unpacked"
}

pages=$(newest_pages "")
if [ -z "$pages" ]; then
    unpack_package
    pages=$(newest_pages "$work/unpacked")
fi
[ -n "$pages" ] || fail "the package has no HTML pages"
cp "$pages"/sql-*.html "$target"
say "$(find "$target" -name '*.html' | wc -l) pages in $target"

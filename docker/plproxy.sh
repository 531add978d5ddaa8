#!/usr/bin/env bash
# plproxy.sh: make sure that there is a PL/Proxy for the tests of shards; again changes nothing.
#
# Where it cannot be installed, that is said, and those tests skip: exit code 0 in either case.
set -euo pipefail

say() { printf 'plproxy: %s\n' "$*"; }

bin=${PGBLEND_POSTGRESQL_BIN:-$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)}
config=${bin:+$bin/}pg_config
if ! command -v "$config" >/dev/null; then
    say "there is no PostgreSQL: tests of shards will skip"
    exit 0
fi
if [ -f "$("$config" --sharedir)/extension/plproxy.control" ]; then
    say "it is there"
    exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    say "there is none, and only root can install it with apt-get: tests of shards will skip"
    exit 0
fi
version=$("$config" --version | sed -E 's/^[^0-9]*([0-9]+).*/\1/')
say "installing it for PostgreSQL $version"
apt-get update -qq || true
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "postgresql-$version-plproxy" >/dev/null ||
    say "it could not be installed: tests of shards will skip"

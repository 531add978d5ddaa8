#!/usr/bin/env bash
# build_pgvector.sh MAJOR LEAST SUITE…: build pgvector for PostgreSQL MAJOR and install it.
#
# The source is Debian's, of the first of these suites that has version LEAST or newer. PostgreSQL's
# headers are unpacked into a folder that goes away, because their package would bring all of LLVM
# (half a gigabyte), which is not needed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
me=provision
# shellcheck source-path=SCRIPTDIR
. "$here/common.sh"

major=$1
shift
bin=/usr/lib/postgresql/$major/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

"$here/fetch_pgvector.sh" "$work/source" "$@"

say "installing gcc and make"
apt install -y --no-install-recommends gcc libc6-dev make

apt download "postgresql-server-dev-$major" libpq-dev
for package in ./*.deb; do
    dpkg-deb -x "$package" headers
done

# PostgreSQL's build rules ask pg_config where things are: the headers are here, all else is in place.
cat >pg_config <<SH
#!/bin/sh
"$bin/pg_config" "\$@" | sed 's#^/usr/include#$work/headers&#'
SH
chmod 755 pg_config

version=$(sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" source/vector.control)
say "building pgvector $version"
# OPTFLAGS: the default would use this very processor's instructions; pgvector chooses at run time.
quietly make -C source with_llvm=no OPTFLAGS= PG_CONFIG="$work/pg_config" DESTDIR="$work/built" all install

# Each file is renamed into its place, since servers may run; vector.control comes last.
cd "$work/built"
find usr -type f | LC_ALL=C sort | while IFS= read -r file; do
    mkdir -p "/$(dirname "$file")"
    cp -p "$file" "/$file.new"
    mv "/$file.new" "/$file"
done
say "pgvector $version installed for PostgreSQL $major"

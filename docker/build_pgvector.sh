#!/usr/bin/env bash
# build_pgvector.sh MAJOR: build pgvector for PostgreSQL MAJOR from the source package of Debian 13.
#
# For Debian releases that have no package of it. The system's package lists stay as they are: the
# other release's are kept in a folder that goes away. The headers are unpacked there too, because
# their package would bring all of LLVM (half a gigabyte), which is not needed.
set -euo pipefail

me=provision
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

RELEASE=trixie
major=$1
bin=/usr/lib/postgresql/$major/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

release_apt() {
    apt -o Dir::Etc::sourcelist="$work/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::State::lists="$work/apt/lists" -o Dir::Cache="$work/apt/cache" "$@"
}

say "installing gcc and make"
apt install -y --no-install-recommends gcc libc6-dev make

say "fetching pgvector's source package"
# shellcheck disable=SC2016 # $(REPO_URI) is apt's to fill in
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' 2>/dev/null | head -n 1)
[ -n "$mirror" ] || fail "apt's sources name no Debian mirror to get pgvector's source from;" \
    "install pgvector 0.8 or newer for PostgreSQL $major and run this again"
mkdir -p apt/lists/partial apt/cache/archives/partial
echo "deb-src $mirror $RELEASE main" >apt/sources.list
release_apt update
release_apt source --download-only --only-source pgvector
mkdir source
tar -xf pgvector_*.orig.tar.* -C source --strip-components=1

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
quietly make -C source with_llvm=no OPTFLAGS= PG_CONFIG="$work/pg_config" all install
say "pgvector $version installed for PostgreSQL $major"

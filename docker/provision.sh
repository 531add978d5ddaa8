#!/usr/bin/env bash
# provision.sh [--check] [--database-url URL]: make sure that there is a PostgreSQL pgblend can run on.
#
# In this order: the server of --database-url or PGBLEND_DATABASE_URL (only checked, never changed);
# PostgreSQL 15 or newer on this machine with vector, pg_trgm, plpython3u and numpy (nothing to do;
# PGBLEND_POSTGRESQL_BIN names its folder of programs where that is an unusual one); else packages
# by apt, and pgvector from source where apt has none without known faults. --check reports and
# installs nothing.
# Exit code 0: all there; 1: something is missing, and it was said what.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
me=provision
# shellcheck source-path=SCRIPTDIR
. "$here/common.sh"

MINIMUM_POSTGRESQL=15
MINIMUM_VECTOR=0.8
# Before it, parallel HNSW builds overran a buffer, and vacuum could damage an index.
SOUND_VECTOR=0.8.4
# Releases of Debian whose source of pgvector is tried, in this order.
NEWER_SUITES=(forky sid)
OLDER_SUITES=(trixie)
# So that installing a server neither makes nor starts a cluster on port 5432.
NO_CLUSTER=/etc/postgresql-common/createcluster.d/pgblend-provision.conf

joined() { paste -sd '|' - | sed 's/|/; /g'; }

# --- a server that the user names ---------------------------------------------------------------

server_lacks() {
    psql -X -At -v ON_ERROR_STOP=1 -d "$1" <<'SQL'
SELECT 'PostgreSQL 15 or newer (this is ' || current_setting('server_version') || ')'
WHERE current_setting('server_version_num')::int < 150000;
SELECT 'the extension ' || name FROM unnest(ARRAY['vector', 'pg_trgm', 'plpython3u']) AS name
WHERE name NOT IN (SELECT name FROM pg_available_extensions);
SELECT 'pgvector 0.8 or newer (this is ' || default_version || ')'
FROM pg_available_extensions
WHERE name = 'vector' AND string_to_array(default_version, '.')::int[] < ARRAY[0, 8];
SELECT 'a superuser, who alone can create plpython3u (' || current_user || ' is none)'
WHERE NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
    AND NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'plpython3u');
SQL
}

check_server() {
    local lacking
    command -v psql >/dev/null ||
        fail "psql is not installed, so the server cannot be checked; install a PostgreSQL client"
    lacking=$(server_lacks "$1" 2>&1) || fail "the server does not answer: $(head -n 1 <<<"${lacking#psql: error: }")"
    [ -z "$lacking" ] || fail "the server lacks: $(joined <<<"$lacking"). Nothing was changed;" \
        "install that on the server's machine, or leave out --database-url to use a private server"
    say "the server of the database URL has everything; nothing to do (pgblend doctor checks numpy)"
}

# --- PostgreSQL on this machine -----------------------------------------------------------------

folders() {
    if [ -n "${PGBLEND_POSTGRESQL_BIN:-}" ]; then
        ls -d "$PGBLEND_POSTGRESQL_BIN" 2>/dev/null || true
    else
        { ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin 2>/dev/null || true; } | sort -rV
    fi
}

version_of() { "$1/postgres" --version | sed -E 's/^[^)]*\) ([0-9.]+).*/\1/'; }

vector_of() {
    sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" "$("$1/pg_config" --sharedir)/extension/vector.control" 2>/dev/null || true
}

folder_lacks() {
    local bin=$1 version extensions name vector
    if [ ! -x "$bin/initdb" ] || [ ! -x "$bin/pg_config" ]; then
        echo "the server's programs" && return
    fi
    version=$(version_of "$bin")
    at_least "$version" "$MINIMUM_POSTGRESQL" ||
        echo "PostgreSQL $MINIMUM_POSTGRESQL or newer (this is $version)"
    extensions=$("$bin/pg_config" --sharedir)/extension
    for name in vector pg_trgm plpython3u; do
        [ -f "$extensions/$name.control" ] || echo "the extension $name"
    done
    vector=$(vector_of "$bin")
    [ -z "$vector" ] || at_least "$vector" "$MINIMUM_VECTOR" ||
        echo "pgvector $MINIMUM_VECTOR or newer (this is $vector)"
    # PL/Python of a distribution's package is linked to the distribution's own Python.
    /usr/bin/python3 -c 'import numpy' 2>/dev/null || echo "numpy for /usr/bin/python3"
}

# Print the folder that has everything; else say on standard error what each one lacks.
complete_folder() {
    local bin lacking
    for bin in $(folders); do
        lacking=$(folder_lacks "$bin")
        [ -n "$lacking" ] || { echo "$bin" && return; }
        say "$bin lacks $(joined <<<"$lacking")" >&2
    done
    [ -n "$(folders)" ] || say "there is no PostgreSQL server here" >&2
    return 1
}

# --- installing ---------------------------------------------------------------------------------

candidate() { LC_ALL=C apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: \([^(].*\)/\1/p'; }

# Print the major versions that apt has with PL/Python: installed ones first, then newest first.
majors() {
    local all
    all=$(apt-cache pkgnames postgresql-plpython3- | sed 's/.*-//' | sort -rn)
    { folders | sed -n 's|^/usr/lib/postgresql/\([0-9]*\)/bin$|\1|p'; echo "$all"; } |
        awk -v least="$MINIMUM_POSTGRESQL" -v all="$all" \
            'BEGIN { n = split(all, a); for (i = 1; i <= n; i++) has[a[i]] } $1 >= least && ($1 in has) && !seen[$1]++'
}

# Tell whether apt has pgvector for this major version, of this version or newer.
has_vector_package() {
    local found
    found=$(candidate "postgresql-$1-pgvector")
    [ -n "$found" ] && at_least "$found" "$2"
}

choose_major() {
    local major
    for major in $(majors); do
        has_vector_package "$major" "$MINIMUM_VECTOR" && echo "$major" && return
    done
    majors | head -n 1
}

# A package without known faults, else a newer release's source, else what this release has.
install_vector() {
    local major=$1 package=postgresql-$1-pgvector
    if has_vector_package "$major" "$SOUND_VECTOR"; then
        apt install -y --no-install-recommends "$package"
    elif "$here/build_pgvector.sh" "$major" "$SOUND_VECTOR" "${NEWER_SUITES[@]}"; then
        return
    elif has_vector_package "$major" "$MINIMUM_VECTOR"; then
        say "installing the package $package"
        apt install -y --no-install-recommends "$package"
    else
        "$here/build_pgvector.sh" "$major" "$MINIMUM_VECTOR" "${OLDER_SUITES[@]}"
    fi
    say_faults "$(vector_of "/usr/lib/postgresql/$major/bin")"
}

# In one line what an older pgvector gets wrong, and what pgblend does about it.
say_faults() {
    say "pgvector $1 is installed, since no source of $SOUND_VECTOR or newer can be had here: its parallel HNSW builds" \
        "overrun a buffer, so pgblend lets one process build an index; vacuum may damage one (pgblend eval audit tells)"
}

install_packages() {
    local major
    say "reading apt's package lists"
    apt update
    major=$(choose_major)
    [ -n "$major" ] || fail "apt has no PostgreSQL $MINIMUM_POSTGRESQL or newer with PL/Python;" \
        "add the package repository of the PostgreSQL project (PGDG) and run this again"
    say "installing PostgreSQL $major, PL/Python and numpy"
    mkdir -p "$(dirname "$NO_CLUSTER")"
    trap 'rm -f "$NO_CLUSTER"; rmdir --ignore-fail-on-non-empty "$(dirname "$NO_CLUSTER")"' EXIT
    echo 'create_main_cluster = false' >"$NO_CLUSTER"
    apt install -y --no-install-recommends \
        "postgresql-$major" "postgresql-plpython3-$major" python3-numpy
    case $(folder_lacks "/usr/lib/postgresql/$major/bin") in
        *vector*) install_vector "$major" ;;
    esac
}

# --- what to do ---------------------------------------------------------------------------------

check_only=
url=${PGBLEND_DATABASE_URL:-}
while [ $# -gt 0 ]; do
    case $1 in
        --check) check_only=1 ;;
        --database-url) url=${2:?--database-url needs a value} && shift ;;
        -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0" && exit ;;
        *) fail "unknown option $1; see $0 --help" ;;
    esac
    shift
done

if [ -n "$url" ]; then
    check_server "$url"
    exit
fi
if bin=$(complete_folder); then
    say "PostgreSQL $(version_of "$bin") in $bin has everything; nothing to do"
    exit
fi
needed="PostgreSQL $MINIMUM_POSTGRESQL or newer with contrib modules, PL/Python, pgvector $MINIMUM_VECTOR or newer, and numpy for its Python"
[ -z "$check_only" ] || fail "needed: $needed; to install it, run as root: $here/provision.sh"
command -v apt-get >/dev/null ||
    fail "needed: $needed; there is no apt-get here, so install it by your system's packages"
[ "$(id -u)" = 0 ] || fail "needed: $needed; installing takes root: sudo $here/provision.sh"
[ -z "${PGBLEND_POSTGRESQL_BIN:-}" ] || fail "needed: $needed; unset PGBLEND_POSTGRESQL_BIN to install it"
install_packages
bin=$(complete_folder) || fail "still incomplete after installing; needed: $needed"
say "PostgreSQL $(version_of "$bin") in $bin has everything now"

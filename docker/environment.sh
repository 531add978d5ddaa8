#!/usr/bin/env bash
# environment.sh VENV EXTRAS: a Python environment with pgblend and its extras; again changes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$1
extras=$2
stamp=$venv/.pgblend-$extras
say() { printf 'environment: %s\n' "$*"; }

# A strict editable install links file by file, so it is made anew when files come or go.
state=$({ cat pyproject.toml; find cli migrations plpy sql -name '*.py' -o -name '*.*sql' -o -name '*.json' -o -name '*.txt' -o -path '*/templates/*' | sort; } |
    sha256sum)
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$state" ]; then
    say "$venv is up to date"
    exit 0
fi

if [ ! -x "$venv/bin/python" ]; then
    python=${PYTHON:-python3}
    if ! "$python" -c 'import ensurepip, sys, venv; assert sys.version_info >= (3, 11)' 2>/dev/null; then
        if [ -n "${PYTHON:-}" ] || [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
            say "$python is missing, older than 3.11 or without venv: install python3 and python3-venv," \
                "or set PYTHON to a Python that has them" >&2
            exit 1
        fi
        say "installing python3 and python3-venv"
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3 python3-venv >/dev/null
    fi
    say "making $venv"
    "$python" -m venv "$venv"
fi
pip() { "$venv/bin/pip" --disable-pip-version-check --quiet "$@"; }
say "installing pgblend[$extras]"
pip install --config-settings editable_mode=strict -e ".[$extras]"
printf '%s' "$state" >"$stamp"

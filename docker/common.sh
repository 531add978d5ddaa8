# Sourced by the scripts of this folder; `me` is the name in front of each line that they print.
# shellcheck shell=bash

say() { printf '%s: %s\n' "${me:-pgblend}" "$*"; }
fail() {
    say "$@" >&2
    exit 1
}

# Tell whether version $1 is $2 or newer.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# Run a command silently; when it fails, show what it said and stop.
quietly() {
    local output
    output=$("$@" 2>&1) || {
        tail -n 15 <<<"$output" >&2
        fail "this failed: $*"
    }
}

# apt-get without questions, and without starting any service (RUNLEVEL=1).
apt() { DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 quietly apt-get -q -o APT::Sandbox::User=root "$@"; }

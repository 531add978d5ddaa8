#!/usr/bin/env bash
# chromium.sh: make sure that there is a Chromium for the tests that look at pages; again changes nothing.
#
# PGBLEND_CHROMIUM names one in an unusual place. Where none can be installed, that is said, and those
# tests skip: exit code 0 in either case.
set -euo pipefail

say() { printf 'chromium: %s\n' "$*"; }

for program in "${PGBLEND_CHROMIUM:-}" chromium chromium-browser google-chrome; do
    if [ -n "$program" ] && command -v "$program" >/dev/null; then
        say "$(command -v "$program") is there"
        exit 0
    fi
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    say "there is none, and only root can install it with apt-get: tests of pages will skip"
    exit 0
fi
say "installing chromium"
apt-get update -qq || true
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null ||
    say "it could not be installed: tests of pages will skip"

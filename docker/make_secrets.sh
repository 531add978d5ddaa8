#!/usr/bin/env bash
# make_secrets.sh: a random password for each login of compose.yaml, in docker/secrets; again changes nothing.
#
# The folder is closed to other accounts of this machine; the files are open, because the account of
# the containers is another one than yours.
set -euo pipefail
cd "$(dirname "$0")"

me=secrets
# shellcheck source-path=SCRIPTDIR
. ./common.sh

mkdir -p -m 700 secrets
for name in application_password serve_password log_password; do
    [ ! -s "secrets/$name" ] || continue
    (umask 077 && head -c 24 /dev/urandom | base64 | tr '+/' '-_' >"secrets/$name.new")
    chmod 444 "secrets/$name.new"
    mv "secrets/$name.new" "secrets/$name"
    say "made docker/secrets/$name"
done

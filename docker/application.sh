#!/usr/bin/env bash
# Entry point of the application image: put the secrets where they are looked for, then run the command.
#
# PGBLEND_PASSWORD      password for the database URLs of this container; or PGBLEND_PASSWORD_FILE
# …_API_KEY_FILE        such as OPENAI_API_KEY_FILE: the variable without _FILE gets what the file holds
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR
. "$here/secrets.sh"
say() { printf 'application: %s\n' "$*" >&2; }

# In libpq's format, so that commands which `docker exec` starts have it too.
password=$(secret PGBLEND_PASSWORD)
if [ -n "$password" ]; then
    escaped=${password//\\/\\\\}
    (umask 077 && printf '*:*:*:*:%s\n' "${escaped//:/\\:}" >"$PGPASSFILE")
fi
unset password escaped PGBLEND_PASSWORD

for file in $(compgen -e | grep '_API_KEY_FILE$' || true); do
    name=${file%_FILE}
    value=$(secret "$name")
    export "$name=$value"
    unset "$file"
done

exec "$@"

# Sourced by the images' entry points.
# shellcheck shell=bash

# Print the secret NAME: the variable itself, or the first line of the file that NAME_FILE names.
secret() {
    local name=$1 file=${1}_FILE value
    if [ -n "${!name:-}" ] && [ -n "${!file:-}" ]; then
        say "$name and $file are both set: keep one of them"
        return 1
    fi
    value=${!name:-}
    if [ -n "${!file:-}" ]; then
        value=$(head -n 1 "${!file}" 2>/dev/null) || true
        if [ -z "$value" ]; then
            say "$file names ${!file}, which is empty or cannot be read by account $(id -u):" \
                "put the secret there, and let that account read it"
            return 1
        fi
    fi
    printf '%s' "$value"
}

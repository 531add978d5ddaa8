#!/usr/bin/env bash
# images.sh [--release] [OPTION…]: build both images with docker or podman, and print their sizes.
#
# PGBLEND_BASE names the base, debian:13-slim by default; OPTIONs are those of docker build. --release
# refuses a base without a digest; docker buildx imagetools inspect debian:13-slim shows today's.
set -euo pipefail
cd "$(dirname "$0")/.."

me=images
# shellcheck source-path=SCRIPTDIR
. docker/common.sh

base=${PGBLEND_BASE:-debian:13-slim}
if [ "${1:-}" = --release ]; then
    shift
    [[ $base =~ @sha256:[0-9a-f]{64}$ ]] ||
        fail "a release names its base by digest, and PGBLEND_BASE is '$base': set it to debian:13-slim@sha256:…," \
            "as docker buildx imagetools inspect debian:13-slim shows it"
fi

if docker info >/dev/null 2>&1; then
    engine=docker
    options=()
elif command -v podman >/dev/null; then
    engine=podman
    # Podman's own format of images has no health checks.
    options=(--format docker --ignorefile docker/Dockerfile.dockerignore)
else
    fail "neither docker (with its daemon) nor podman is here: install one of them"
fi

for target in database application; do
    say "building pgblend-$target on $base with $engine"
    $engine build --file docker/Dockerfile --target "$target" --tag "pgblend-$target" \
        --build-arg "BASE=$base" "${options[@]}" "$@" .
done
$engine images | grep -E '^(REPOSITORY|.*pgblend-)'

"""`pgblend gateway`: run the model gateway in the foreground."""

import os
from pathlib import Path

import click

from pgblend.cli.errors import UserError


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8766,
    show_default=True,
    help="Port to listen on; 0 takes any free one.",
)
@click.option(
    "--socket",
    "socket_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Listen on this Unix socket instead.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File (mode 0600) with the bearer token that callers must send; needed off loopback.",
)
@click.option(
    "--env-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File (mode 0600) of KEY=VALUE lines: the providers' keys.",
)
@click.option("--preload", is_flag=True, help="Load models at the start, not at the first call.")
@click.option(
    "--ready-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write url, pid and version here as JSON once connections are accepted.",
)
@click.option(
    "--provider-timeout",
    type=click.FloatRange(0.1, 600),
    default=60,
    show_default=True,
    help="Seconds a provider has for one call.",
)
@click.option(
    "--cache-size",
    type=click.IntRange(0, 1_000_000),
    default=64,
    show_default=True,
    help="MiB of embeddings kept in memory; 0 keeps none.",
)
def command(
    host: str,
    port: int,
    socket_path: Path | None,
    token_file: Path | None,
    env_file: Path | None,
    preload: bool,
    ready_file: Path | None,
    provider_timeout: float,
    cache_size: int,
) -> None:
    """Run the model gateway.

    It serves embeddings, chat completions, rerank scores and query expansions to the database and
    to `pgblend ingest`, in the shapes of OpenAI's and Cohere's APIs: local/all-minilm-l6-v2 from
    the extra pgblend[local], every other model through litellm with the keys of its environment or
    of --env-file.
    """
    from pgblend.cli.gateway.access import read_env_file, read_token
    from pgblend.cli.gateway.app import create_app
    from pgblend.cli.gateway.listen import is_loopback, listen_tcp, listen_unix
    from pgblend.cli.gateway.serve import serve
    from pgblend.cli.gateway.services import Services

    if env_file:
        os.environ.update(read_env_file(env_file))
    token = read_token(token_file) if token_file else None
    listener = listen_unix(socket_path) if socket_path else listen_tcp(host, port)
    loopback = is_loopback(listener)
    if not loopback and token is None:
        listener.close()
        raise UserError(
            f"{host} can be reached from other machines, and there is no token",
            hint="add --token-file FILE, or listen on 127.0.0.1 or a --socket",
        )
    services = Services(provider_timeout_seconds=provider_timeout, cache_mebibytes=cache_size)
    check_host = loopback and socket_path is None
    app = create_app(services, token=token, loopback=check_host, preload=preload)
    serve(app, listener, ready_file)

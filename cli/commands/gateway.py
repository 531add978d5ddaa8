"""`pgblend gateway`: run the model gateway in the foreground; start that of `up` anew."""

import os
from pathlib import Path
from typing import Any

import click

from pgblend.cli.base.errors import UserError
from pgblend.cli.base.extras import require
from pgblend.cli.models.gateway_options import limit_options, read_connection_limits, read_policy
from pgblend.cli.models.json_log import LOG_LEVELS
from pgblend.cli.operate.state import data_directory, data_directory_option


@click.group(invoke_without_command=True)
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
    "--keys-file",
    "env_file",
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
    "--cache-size",
    type=click.IntRange(0, 1_000_000),
    default=64,
    show_default=True,
    help="MiB of embeddings kept in memory, and half as much of other answers; 0 keeps none.",
)
@click.option(
    "--models-folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where your own local models are: local/NAME in its folder NAME. "
    "[default: models in pgblend's data folder]",
)
@click.option(
    "--log-level",
    type=click.Choice(LOG_LEVELS),
    default="warning",
    show_default=True,
    help="What is logged to standard error as lines of JSON; info: every call and search.",
)
@click.option(
    "--database-url",
    envvar="PGBLEND_GATEWAY_DATABASE_URL",
    show_envvar=True,
    help="Keep expansions, the ledger of calls and the log of searches there; connect as a member "
    "of pgblend_gateway.",
)
@click.option(
    "--keep-days",
    type=click.IntRange(1, 36500),
    default=90,
    show_default=True,
    help="How long the database keeps them.",
)
@limit_options
def command(
    host: str,
    port: int,
    socket_path: Path | None,
    token_file: Path | None,
    env_file: Path | None,
    preload: bool,
    ready_file: Path | None,
    cache_size: int,
    models_folder: Path | None,
    log_level: str,
    database_url: str | None,
    keep_days: int,
    **limits: Any,
) -> None:
    """Run the model gateway.

    It serves embeddings, chat completions, rerank scores and query expansions to the database and
    to `pgblend ingest`, in the shapes of OpenAI's and Cohere's APIs: local/all-minilm-l6-v2 from
    the extra pgblend[local], every other model through litellm with the keys of its environment or
    of --env-file.

    A server of one's own that speaks OpenAI's API (Ollama, vLLM, llama.cpp, TEI) has its address
    there too: with PGBLEND_MODEL_SERVER_OLLAMA=http://127.0.0.1:11434/v1 its models are
    ollama/NAME, and PGBLEND_MODEL_SERVER_OLLAMA_KEY is its key, where it wants one.

    \b
    Examples:
      pgblend gateway --preload
      pgblend gateway --port 8766 --env-file keys.env --fallback expansion=openai/gpt-4o-mini
    """
    if click.get_current_context().invoked_subcommand:
        return
    require("gateway")
    from pgblend.cli.models.access import read_env_file, read_token
    from pgblend.cli.models.json_log import log_to
    from pgblend.cli.models.served_app import is_loopback, listen_tcp, listen_unix

    policy = read_policy(**limits)
    if env_file:
        os.environ.update(read_env_file(env_file))
    token = read_token(token_file) if token_file else None
    log_to(level=log_level)
    listener = listen_unix(socket_path) if socket_path else listen_tcp(host, port)
    loopback = is_loopback(listener)
    if not loopback and token is None:
        listener.close()
        raise UserError(
            f"{host} can be reached from other machines, and there is no token",
            hint="add --token-file FILE, or listen on 127.0.0.1 or a --socket",
        )
    # Half a second, which nobody waits for whose options are wrong.
    from pgblend.cli.models.app import Services, create_app
    from pgblend.cli.models.connection import limited_protocol
    from pgblend.cli.models.search_log import open_log_socket
    from pgblend.cli.models.served_app import Service, serve

    services = Services(
        policy,
        cache_mebibytes=cache_size,
        models_folder=(models_folder or data_directory() / "models").resolve(),
        database_url=database_url,
        keep_days=keep_days,
    )
    check_host = loopback and socket_path is None
    log_socket = open_log_socket(listener) if database_url else None
    app = create_app(
        services, token=token, loopback=check_host, preload=preload, log_socket=log_socket
    )
    protocol = limited_protocol(read_connection_limits(**limits))
    serve(app, listener, ready_file, protocol, Service())


@command.command()
@data_directory_option
def restart(directory: Path) -> None:
    """Start the private server's gateway anew: it reads gateway.env again.

    Like `pgblend up`, it gets the environment of this command.

    \b
    Examples:
      pgblend gateway restart
    """
    from pgblend.cli.operate.bring_up import bring_up_gateway
    from pgblend.cli.operate.cluster import Cluster
    from pgblend.cli.operate.postmaster import locked

    cluster = Cluster(directory)
    if not cluster.running:
        raise UserError(f"there is no running server in {directory}", hint="start it: pgblend up")
    with locked(cluster.directory):
        bring_up_gateway(cluster, lambda said: click.echo(f"pgblend: {said}", err=True), anew=True)

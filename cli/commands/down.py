"""`pgblend down`: stop the private server, the gateway, the worker and the page."""

from pathlib import Path

import click

from pgblend.cli.server.options import data_directory_option


@click.command()
@data_directory_option
def command(directory: Path) -> None:
    """Stop the private server and what runs beside it; the data stay.

    Running statements end, what was committed is kept.

    \b
    Examples:
      pgblend down
    """
    from pgblend.cli.server.cluster import Cluster
    from pgblend.cli.server.door_process import DoorProcess
    from pgblend.cli.server.gateway_process import GatewayProcess
    from pgblend.cli.server.lock import locked
    from pgblend.cli.server.worker_process import WorkerProcess

    if not directory.exists():
        click.echo(f"pgblend: there is no private server in {directory}", err=True)
        return
    cluster = Cluster(directory)
    with locked(cluster.directory):
        if DoorProcess(cluster.directory).stop():
            click.echo("pgblend: pgblend serve stopped", err=True)
        if WorkerProcess(cluster.directory).stop():
            click.echo("pgblend: worker stopped", err=True)
        had_gateway = GatewayProcess(cluster.directory).stop()
        click.echo(f"pgblend: gateway {'stopped' if had_gateway else 'did not run'}", err=True)
        had_server = cluster.running
        cluster.stop()
        click.echo(f"pgblend: PostgreSQL {'stopped' if had_server else 'did not run'}", err=True)

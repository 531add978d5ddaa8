"""`pgblend down`: stop the private server, the gateway, the worker and the page."""

from pathlib import Path

import click

from pgblend.cli.operate.state import data_directory_option


@click.command()
@data_directory_option
def command(directory: Path) -> None:
    """Stop the private server and what runs beside it; the data stay.

    Running statements end, what was committed is kept.

    \b
    Examples:
      pgblend down
    """
    from pgblend.cli.operate.cluster import Cluster
    from pgblend.cli.operate.postmaster import locked
    from pgblend.cli.operate.services import (
        CommandsProcess,
        DoorProcess,
        GatewayProcess,
        WorkerProcess,
    )

    if not directory.exists():
        click.echo(f"pgblend: there is no private server in {directory}", err=True)
        return
    cluster = Cluster(directory)
    with locked(cluster.directory):
        CommandsProcess(cluster.directory).stop()
        if DoorProcess(cluster.directory).stop():
            click.echo("pgblend: pgblend serve stopped", err=True)
        if WorkerProcess(cluster.directory).stop():
            click.echo("pgblend: worker stopped", err=True)
        had_gateway = GatewayProcess(cluster.directory).stop()
        click.echo(f"pgblend: gateway {'stopped' if had_gateway else 'did not run'}", err=True)
        had_server = cluster.running
        cluster.stop()
        click.echo(f"pgblend: PostgreSQL {'stopped' if had_server else 'did not run'}", err=True)

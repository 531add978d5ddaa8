"""`pgblend open`: the page of the private server, in a browser."""

import html
import os
import tempfile
import webbrowser
from pathlib import Path

import click

from pgblend.cli.base.errors import UserError
from pgblend.cli.operate.state import data_directory_option

_DAYS = 30
_FORWARDING = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={link}">
<title>pgblend</title>
<a href="{link}">pgblend</a>
"""


@click.command()
@data_directory_option
@click.option("--print", "only_print", is_flag=True, help="Print the link, and open no browser.")
def command(directory: Path, only_print: bool) -> None:
    """Open the page of the private server in a browser.

    Prints a link that opens once, within ten minutes, and lets that browser search for thirty
    days. Where there is no browser here, open it in one that reaches this machine's loopback.

    \b
    Examples:
      pgblend open
      pgblend open --print
    """
    from pgblend.cli.base.database import connect
    from pgblend.cli.doors.tokens import make_link
    from pgblend.cli.operate.cluster import Cluster
    from pgblend.cli.operate.services import PAGE_ROLE, DoorProcess

    cluster = Cluster(directory)
    door = DoorProcess(directory).find()
    if door is None:
        raise UserError(f"no page runs for {directory}", hint="start it: pgblend up")
    with connect(cluster.url) as connection:
        link = make_link(connection, door.url, PAGE_ROLE, _DAYS)
    click.echo(link)
    if not only_print:
        webbrowser.open(_forwarding(directory, link).as_uri())


def _forwarding(folder: Path, link: str) -> Path:
    """Return a file of this account's alone that leads on to the link.

    A browser's arguments are seen by every account of the machine.
    """
    handle, name = tempfile.mkstemp(dir=folder, suffix=".html")
    with open(handle, "w", encoding="utf-8") as file:
        file.write(_FORWARDING.format(link=html.escape(link)))
    path = folder / "open.html"
    os.replace(name, path)
    return path

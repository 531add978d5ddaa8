"""Options that `pgblend ingest` and `pgblend sync` share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pgblend.cli.documents.language import AUTO
from pgblend.cli.documents.progress import LINE_SECONDS
from pgblend.cli.documents.readers import POSIX

_SHARED = (
    click.argument(
        "paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH…"
    ),
    click.option(
        "-c", "--collection", required=True, metavar="NAME", help="Made where it does not exist."
    ),
    click.option(
        "--lang",
        "language",
        default=AUTO,
        show_default=True,
        metavar="auto|NAME",
        help="Language of the documents, as a text search configuration or an ISO code (de, zh); "
        "auto finds each one's, and short texts get the collection's.",
    ),
    click.option(
        "--include", multiple=True, metavar="GLOB", help="In folders, take these files only."
    ),
    click.option(
        "--exclude", multiple=True, metavar="GLOB", help="In folders, leave these files out."
    ),
    click.option(
        "--root",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Keys are paths below this folder, not below each PATH.",
    ),
    click.option(
        "--follow-links",
        is_flag=True,
        help="In folders, read also what links out of every PATH lead to.",
    ),
    click.option(
        "--readers",
        multiple=True,
        metavar="NAME",
        help="Role or group that alone may read these documents; repeat it for several. * means "
        "all who may read the collection. Readers named in a file or beside it come first.",
    ),
    click.option(
        "--readers-from",
        type=click.Choice([POSIX]),
        help="posix: the groups that may read a file and enter its folders may read its document; "
        "all who may read the collection where all accounts may.",
    ),
    click.option(
        "--time-budget",
        type=click.FloatRange(min=0),
        metavar="SECONDS",
        help="Processor time that reading all files may take; what is left is named.  "
        "[default: an hour, half a second a file and 4 a megabyte]",
    ),
    click.option("--embed/--no-embed", default=True, help="Ask the gateway for vectors."),
    click.option("--prune", is_flag=True, help="Delete documents whose file is gone from a PATH."),
    click.option(
        "--dry-run",
        is_flag=True,
        help="Change nothing; tell documents, tokens, cost and hours. A few texts are embedded to "
        "measure the model.",
    ),
    click.option(
        "--progress-every",
        type=click.FloatRange(min=0, min_open=True),
        default=LINE_SECONDS,
        show_default=True,
        metavar="SECONDS",
        help="How often a line tells how far it is, where standard error is no terminal.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print a report as JSON."),
)


def source_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the paths and options of everything that reads files."""
    for option in reversed(_SHARED):
        function = option(function)
    return function

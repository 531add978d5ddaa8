"""`pgblend eval learn`: a judged set of what people opened."""

import click

from pgblend.cli import output
from pgblend.cli.database import open_database
from pgblend.cli.evaluate import options
from pgblend.cli.extras import require

_COLUMNS = (
    "set",
    "clicks",
    "documents",
    "relevant",
    "not_relevant",
    "no_verdict",
    "judged",
    "queries",
)


@click.command("learn")
@click.option("-c", "--collection", required=True, metavar="NAME", help="Collection to learn of.")
@output.output_options("json", "csv", "md")
@click.pass_obj
def command(database_url: str | None, collection: str, output_format: str) -> None:
    """Make a judged set of what people opened, and of what they said of passages.

    A row further down is looked at less often: how often is estimated from documents that one query
    showed at several ranks, and is 1 / rank until the log says more. A document is relevant where
    it is opened more often than the average row that is looked at, not relevant where less often;
    below 10 looks, and within what may be chance, there is no verdict. What people judged counts in
    place of clicks. The set is called "learned: NAME"; `eval tune --feedback NAME` makes and uses
    it, and so does `calibrate --feedback`.

    \b
    Examples:
      pgblend eval learn -c docs
      pgblend eval tune --feedback docs --save keen
    """
    require("eval")
    from pgblend.cli.learn.collection import as_json, learn

    with open_database(database_url) as connection:
        found = as_json(learn(connection, collection))
    if output_format == "json":
        output.echo_json(found)
    else:
        output.echo_rows(options.rounded([found], output_format), _COLUMNS, output_format)

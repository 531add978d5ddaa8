"""`pgblend query`: hybrid search."""

import click

from pgblend.cli.search.search_commands import (
    Presentation,
    SearchCall,
    SearchRequest,
    history_option,
    presentation_options,
    run_search,
    search_options,
    stage_options,
)
from pgblend.cli.search.statements import SEARCH


@click.command()
@search_options
@history_option
@stage_options
@presentation_options
@click.option("--profile", metavar="NAME", help="Named set of search options, such as balanced.")
@click.option(
    "--client-models",
    is_flag=True,
    help="Ask the models from here: the database waits for none, and holds no transaction.",
)
@click.pass_obj
def command(
    database_url: str | None,
    request: SearchRequest,
    presentation: Presentation,
    profile: str | None,
    client_models: bool,
) -> None:
    """Search by words and meaning together.

    QUERY may be a question, words, "quoted phrases" and -excluded words. Without vectors the
    words answer alone, and a warning says why.

    \b
    Examples:
      pgblend query 'how do I deploy'
      pgblend query 'how do I deploy' -n 3 -c docs --explain
      pgblend query vacuum --filter '{"year": {"gte": 2024}}' --json
    """
    call = SearchCall(SEARCH, profile=profile, client_models=client_models)
    run_search(database_url, request, presentation, call)

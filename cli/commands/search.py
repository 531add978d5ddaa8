"""`pgblend search`: lexical search, with misspelt words put right if asked for."""

import click

from pgblend.cli.search.search_commands import (
    Presentation,
    SearchCall,
    SearchRequest,
    presentation_options,
    run_search,
    search_options,
)

_ARGUMENTS = """(
        query => %(query)s::text, result_limit => %(limit)s::integer,
        collections => %(collections)s::text[], filter => %(filter)s::jsonb,
        options => %(options)s::jsonb)
"""
_LEXICAL = f"SELECT * FROM blend.lexical_search{_ARGUMENTS}"
_FUZZY = f"SELECT * FROM blend.fuzzy_search{_ARGUMENTS}"


@click.command()
@search_options
@presentation_options
@click.option("--fuzzy", is_flag=True, help="Put misspelt and unfinished words right.")
@click.pass_obj
def command(
    database_url: str | None, request: SearchRequest, presentation: Presentation, fuzzy: bool
) -> None:
    """Search by words (BM25).

    QUERY takes words, "quoted phrases" and -excluded words.

    \b
    Examples:
      pgblend search 'ERR-1042'
      pgblend search '"row level security" -trigger' -c docs
    """
    call = SearchCall(_FUZZY, "fuzzy") if fuzzy else SearchCall(_LEXICAL, "lexical")
    run_search(database_url, request, presentation, call)

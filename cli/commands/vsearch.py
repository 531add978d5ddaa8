"""`pgblend vsearch`: vector search."""

import click

from pgblend.cli.search.search_commands import (
    Presentation,
    SearchCall,
    SearchRequest,
    presentation_options,
    run_search,
    search_options,
)

_SEARCH = """
    SELECT * FROM blend.vector_search(
        query => %(query)s::text, result_limit => %(limit)s::integer,
        collections => %(collections)s::text[], filter => %(filter)s::jsonb,
        options => %(options)s::jsonb)
"""


@click.command()
@search_options
@presentation_options
@click.pass_obj
def command(database_url: str | None, request: SearchRequest, presentation: Presentation) -> None:
    """Search by meaning (vectors).

    Ends with VECTORS_UNAVAILABLE and exit code 5 where there are no vectors, or where the model
    gateway gives none for the query.

    \b
    Examples:
      pgblend vsearch 'what to do after a crash' -n 5
    """
    run_search(database_url, request, presentation, SearchCall(_SEARCH, "vector"))

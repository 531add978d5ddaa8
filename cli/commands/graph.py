"""`pgblend graph`: what links to what, and searches that follow it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import (
    collect_warnings,
    fetch_rows,
    fetch_search,
    fetch_value,
    open_database,
)
from pgblend.cli.base.errors import ExitCode
from pgblend.cli.base.files import write_file
from pgblend.cli.base.parameters import JsonObject, shorten
from pgblend.cli.graph.neighbourhood import find_node, read_neighbourhood
from pgblend.cli.search.search_output import echo_results

_NEIGHBOURS = """
    SELECT * FROM blend.graph_neighbors(
        %(node)s::text, %(depth)s::integer, %(direction)s::text, %(edge_types)s::text[],
        %(limit)s::integer)
"""
_SEARCH = """
    SELECT * FROM blend.graph_search(
        seed_nodes => %(seeds)s::text[], depth => %(depth)s::integer,
        result_limit => %(limit)s::integer, query => %(query)s::text,
        collections => %(collections)s::text[], filter => %(filter)s::jsonb,
        options => %(options)s::jsonb)
"""
_EDGES = """
    SELECT l.collection, l.source_key, l.edge_type, l.kind, l.target, l.target_key, l.line,
        l.weight, l.origin
    FROM blend.links AS l
    WHERE (%(collections)s::text[] IS NULL OR l.collection = ANY(
            ARRAY(SELECT normalize(n) FROM unnest(%(collections)s::text[]) AS n)))
        AND (%(edge_types)s::text[] IS NULL OR l.edge_type = ANY (%(edge_types)s::text[]))
        AND (NOT %(dangling)s::boolean OR l.target_key IS NULL)
    ORDER BY l.collection, l.source_key, l.line, l.target
    LIMIT %(limit)s::integer
"""
_EDGE_COLUMNS = ("source_key", "edge_type", "target", "target_key", "line", "origin")
_NEIGHBOUR_COLUMNS = ("title", "distance", "edge_type", "is_reverse", "source_key", "neighbour")
_STAGE = """
    CREATE TEMP TABLE link_stage (
        place integer, source_key text, target text, edge_type text, weight real, metadata jsonb)
"""
_DANGLING = """
    SELECT count(DISTINCT l.id) FROM pg_temp.link_stage AS s
    INNER JOIN pgblend_data.document AS d ON d.source_key = s.source_key
    INNER JOIN pgblend_data.collection AS c ON c.id = d.collection_id
    INNER JOIN pgblend_data.link AS l ON l.document_id = d.id AND l.origin = 'data'
        AND (l.target, l.edge_type) = (s.target, s.edge_type)
    WHERE c.name = normalize(%(collection)s::text) AND l.target_document_id IS NULL
"""


@click.group()
def command() -> None:
    """What links to what, and searches that follow it.

    \b
    Examples:
      pgblend graph neighbors deploy.md -c docs
      pgblend graph show deploy.md -c docs --svg around.svg
    """


def _walk_options(depth: int, limit: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of a walk: depth, direction, edge types, limit."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        for option in (
            click.option(
                "-n",
                "--limit",
                type=click.IntRange(1, 100_000),
                default=limit,
                show_default=True,
                help="Most nodes or rows.",
            ),
            click.option(
                "--type",
                "edge_types",
                multiple=True,
                metavar="TYPE",
                help="Only edges of this type (repeatable); next and part_of join passages.",
            ),
            click.option(
                "--direction",
                type=click.Choice(["both", "out", "in"]),
                default="both",
                show_default=True,
                help="Follow edges, go against them, or either.",
            ),
            click.option(
                "--depth",
                type=click.IntRange(0, 10),
                default=depth,
                show_default=True,
                help="Most steps.",
            ),
        ):
            function = option(function)
        return function

    return decorate


_collection = click.option(
    "-c", "--collection", metavar="NAME", help="Take NODE as a source key in this collection."
)


@command.command()
@click.argument("node")
@_collection
@_walk_options(depth=1, limit=1000)
@output.output_options("json", "csv", "md")
@click.pass_obj
def neighbors(
    database_url: str | None,
    node: str,
    collection: str | None,
    depth: int,
    direction: str,
    edge_types: tuple[str, ...],
    limit: int,
    output_format: str,
) -> None:
    """List the nodes within some steps of a node, nearest first.

    NODE is a document (its source key, URI or docid), or document:ID, chunk:ID or entity:ID.

    \b
    Examples:
      pgblend graph neighbors deploy.md -c docs --depth 2
    """
    with open_database(database_url) as connection:
        parameters = {
            "node": find_node(connection, node, collection),
            "depth": depth,
            "direction": direction,
            "edge_types": list(edge_types) or None,
            "limit": limit,
        }
        rows = fetch_rows(connection, _NEIGHBOURS, parameters)
    output.echo_list("neighbors", rows, _NEIGHBOUR_COLUMNS, output_format)


@command.command()
@click.argument("query", required=False)
@click.option("--seed", "seeds", multiple=True, metavar="NODE", help="Start here (repeatable).")
@click.option("-c", "--collection", multiple=True, metavar="NAME", help="Search only this one.")
@click.option("--filter", type=JsonObject(), help="Only rows that pass.")
@_walk_options(depth=1, limit=10)
@output.output_options("json", "csv", "md", "files")
@click.pass_obj
def search(
    database_url: str | None,
    query: str | None,
    seeds: tuple[str, ...],
    collection: tuple[str, ...],
    filter: dict[str, Any] | None,
    depth: int,
    direction: str,
    edge_types: tuple[str, ...],
    limit: int,
    output_format: str,
) -> None:
    """Find passages near in the graph.

    With --seed: near these nodes (document:ID, or a source key), score
    1 / (1 + depth). With QUERY: what it finds by its vector, and what that leads to, score cosine +
    1 / (1 + depth).

    \b
    Examples:
      pgblend graph search 'how do I deploy' --depth 2
      pgblend graph search --seed document:42
    """
    only = collection[0] if len(collection) == 1 else None
    graph = {"direction": direction, "edge_types": list(edge_types) or None}
    with open_database(database_url) as connection:
        warnings = collect_warnings(connection)
        nodes = [
            seed
            if seed.partition(":")[0] in ("document", "chunk", "entity")
            else find_node(connection, seed, only)
            for seed in seeds
        ]
        parameters = {
            "seeds": nodes or None,
            "depth": depth,
            "limit": limit,
            "query": query,
            "collections": list(collection) or None,
            "filter": None if filter is None else json.dumps(filter),
            "options": json.dumps({"graph": graph}),
        }
        rows, degraded = fetch_search(connection, _SEARCH, parameters)
    more = {"degraded": degraded, "warnings": warnings}
    echo_results(output_format, query or "", rows, more)


@command.command()
@click.argument("node")
@_collection
@_walk_options(depth=2, limit=100)
@click.option(
    "--svg",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the picture.",
)
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write a page."
)
@click.pass_obj
def show(
    database_url: str | None,
    node: str,
    collection: str | None,
    depth: int,
    direction: str,
    edge_types: tuple[str, ...],
    limit: int,
    svg: Path | None,
    html: Path | None,
) -> None:
    """Draw the neighbourhood of a node.

    The node stands in the middle, the others on rings by their distance, and arrows run from source
    to target. --svg writes the picture, --html a page with it; without either its edges are listed.

    \b
    Examples:
      pgblend graph show deploy.md -c docs --svg around.svg
    """
    from pgblend.cli.graph.neighbourhood import draw, render_page

    with open_database(database_url) as connection:
        start = find_node(connection, node, collection)
        around = read_neighbourhood(connection, start, depth, direction, edge_types, limit)
    for path, write in ((svg, draw), (html, render_page)):
        if path is not None:
            write_file(path, write(around))
    if svg is None and html is None:
        titles = {each.name: each.title for each in around.nodes}
        for edge in around.edges:
            line = f"{titles[edge.source]} -- {edge.type} -> {titles[edge.target]}"
            click.echo(output.one_line(line))


@command.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-c", "--collection", required=True, metavar="NAME", help="Whose documents they are.")
@click.option(
    "--type", "edge_type", default="link", show_default=True, help="Of lines that name none."
)
@output.output_options("json")
@click.pass_obj
def import_links(
    database_url: str | None, file: Path, collection: str, edge_type: str, output_format: str
) -> None:
    """Add links between documents from a file.

    FILE is TSV or CSV (also .xz, .gz, .bz2) whose first line names the columns: src and dst, which
    are source keys, and perhaps type, weight and metadata. A target that is not there yet is found
    when it arrives; a source that is not there is left out and told.

    \b
    Examples:
      pgblend graph import links.tsv -c docs
    """
    from pgblend.cli.graph.link_file import read_links

    with open_database(database_url) as connection, connection.transaction():
        connection.execute(_STAGE)
        with connection.cursor().copy("COPY pg_temp.link_stage FROM STDIN") as copy:
            for row in read_links(file, edge_type):
                copy.write_row(row)
        (done,) = fetch_rows(
            connection,
            "SELECT * FROM pgblend._import_links(%(collection)s::text)",
            {"collection": collection},
        )
        if done["dangling"]:
            # Without PL/Python links are led to their documents by a statement of its own.
            connection.execute("SELECT blend.resolve_links(%s)", [collection])
            done["dangling"] = fetch_value(connection, _DANGLING, {"collection": collection})
        connection.execute("DROP TABLE pg_temp.link_stage")
    if output_format == "json":
        output.echo_json(done)
    click.echo(
        f"pgblend: {done['stored']:,} links, {done['dangling']:,} of them to what is not there yet",
        err=True,
    )
    if done["unknown_sources"]:
        some = ", ".join(map(shorten, done["unknown_sources"][:5]))
        click.echo(
            f"pgblend: {len(done['unknown_sources']):,} sources are not there: {some}", err=True
        )


@command.command()
@click.option("-c", "--collection", multiple=True, metavar="NAME", help="Only of this collection.")
@click.option("--type", "edge_types", multiple=True, metavar="TYPE", help="Only of this type.")
@click.option("--dangling", is_flag=True, help="Only links whose target is not there.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, 1_000_000),
    default=1000,
    show_default=True,
    help="Most links to list.",
)
@output.output_options("json", "csv", "md")
@click.pass_obj
def edges(
    database_url: str | None,
    collection: tuple[str, ...],
    edge_types: tuple[str, ...],
    dangling: bool,
    limit: int,
    output_format: str,
) -> None:
    """List what documents link to, as it is written, and what that means.

    \b
    Examples:
      pgblend graph edges -c docs
    """
    parameters = {
        "collections": list(collection) or None,
        "edge_types": list(edge_types) or None,
        "dangling": dangling,
        "limit": limit,
    }
    with open_database(database_url) as connection:
        rows = fetch_rows(connection, _EDGES, parameters)
    output.echo_list("edges", rows, _EDGE_COLUMNS, output_format)


@command.command()
@click.option("-c", "--collection", required=True, metavar="NAME", help="Whose documents they are.")
@click.pass_obj
def entities(database_url: str | None, collection: str) -> None:
    """Have a model find entities and relations in passages.

    The setting entity_model names the model and gateway_url the gateway. Only text that it was not
    asked about before costs anything. Passages are joined to the entities that they name.

    \b
    Examples:
      pgblend graph entities -c docs
    """
    from pgblend.cli.graph.entities import run_entities

    with open_database(database_url) as connection:
        done = run_entities(connection, collection)
    click.echo(
        f"pgblend: asked about {done.asked:,} texts, joined {done.joined:,} passages", err=True
    )
    for failure in done.failures[:5]:
        click.echo(f"pgblend: failed: {output.one_line(failure)}", err=True)
    if done.failures:
        click.get_current_context().exit(ExitCode.PARTIAL)


@command.command()
@click.option("-c", "--collection", required=True, metavar="NAME", help="Whose documents they are.")
@click.pass_obj
def mentions(database_url: str | None, collection: str) -> None:
    """Join documents that name each other.

    A document whose text has another one's title or alias gets an edge of type mentions to it. The
    collection's setting mentions does this at every ingest.

    \b
    Examples:
      pgblend graph mentions -c docs
    """
    with open_database(database_url) as connection:
        statement = "SELECT blend.link_mentions(%(collection)s::text)"
        count = fetch_value(connection, statement, {"collection": collection})
    click.echo(f"pgblend: {count:,} mentions", err=True)

"""`pgblend shards`: spread a store over several databases."""

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import (
    Connection,
    connect,
    fetch_rows,
    fetch_value,
    open_database,
    resolve_database_url,
)
from pgblend.cli.base.errors import ExitCode, UserError
from pgblend.cli.base.places import StorePlace, give_each, push_front
from pgblend.cli.shards.members import (
    become_shard,
    check_asks_password,
    check_may_coordinate,
    given_places,
    places_of,
    problems_of,
    ways_to,
    with_one_login,
)
from pgblend.cli.shards.outbox import deliver, settle_graph, waiting_for

_COLUMNS = (
    *("number", "name", "buckets", "placed", "state", "documents", "front_version"),
    *("waiting", "waiting_since"),
)
_OWN = """
    SELECT count(*) AS buckets, ARRAY(
        SELECT c.name FROM pgblend_data.collection AS c
        WHERE c.buckets && range_agg(int4range(b.bucket, b.bucket + 1))
        ORDER BY c.name) AS placed
    FROM pgblend_data.shard_bucket AS b WHERE b.shard = %(number)s
"""
_OF_SHARD = """
    SELECT s.number, s.front_version, (SELECT count(*) FROM pgblend_data.document) AS documents
    FROM pgblend_data.shard_self AS s
"""
_VERSION = "SELECT f.version FROM pgblend_data.shard_front AS f"
_EXTENSION = "SELECT pgblend._make_plproxy()"
_PLACE = "SELECT pgblend._place_shards(%(names)s::text[], %(places)s::text[], %(directs)s::text[])"
_GUARD = "SELECT pgblend._guard_store(%(tables)s::text[], %(fronts)s::text[])"
_MAP = "SELECT pgblend._map_user(%(role)s::text, %(user)s::text, %(password)s::text)"


_pooler_option = click.option(
    "--pooler",
    metavar="HOST:PORT",
    help="Searches go by this pooler, which knows each shard as a database of its name ({name} in "
    "HOST stands for it); this command line goes by the URLs.",
)


@click.group()
def command() -> None:
    """Spread a store over databases that one searches.

    docs/shards.md says what works on a coordinator.

    \b
    Examples:
      pgblend shards add b1=postgresql://admin@10.0.0.11/search b2=postgresql://admin@10.0.0.12/search
    """


@command.command()
@click.argument("shards", nargs=-1, required=True, metavar="NAME=URL…")
@_pooler_option
@click.pass_obj
def add(database_url: str | None, shards: tuple[str, ...], pooler: str | None) -> None:
    """Make this database the coordinator of shards, all of which are named at once.

    Each shard is an empty database at the same revision (pgblend migrate up). All URLs have the
    same user and password, by which your role goes to shards; others get theirs by
    `pgblend shards grant`. Run again, it finishes what was not done, and changes URLs.

    \b
    Examples:
      pgblend shards add b1=postgresql://admin@10.0.0.11/search b2=postgresql://admin@10.0.0.12/search
    """
    from pgblend.migrations import runner
    from pgblend.sql.coordinator import FRONT_TABLES, STORE_TABLES

    url = resolve_database_url(database_url)
    with open_database(url) as coordinator:
        check_may_coordinate(coordinator)
        given = given_places(shards)
        connections, login = with_one_login(given)
        ways = ways_to(given, connections, pooler)
        found = [StorePlace(place, name, one) for place, (name, one) in enumerate(given.items())]
        fetch_rows(coordinator, _EXTENSION)
        for place in found:
            check_asks_password(coordinator, place.name, place.url)
            become_shard(place)
        with coordinator.transaction():
            placed = {"names": list(given), "places": ways.connections, "directs": ways.directs}
            fetch_rows(coordinator, _PLACE, placed)
            role = fetch_value(coordinator, "SELECT current_user")
            fetch_rows(coordinator, _MAP, {"role": role, "password": None, **login})
    runner.apply(url)
    with connect(url) as coordinator:
        guarded = {"tables": list(STORE_TABLES), "fronts": list(FRONT_TABLES)}
        fetch_rows(coordinator, _GUARD, guarded)
        for place in found:
            push_front(coordinator, place)
            click.echo(f"shard {place.number}: {place.name}", err=True)


@command.command()
@click.argument("role")
@click.option("--user", metavar="NAME", help="The role's name on the shards; its own by default.")
@click.option("--password", envvar="PGBLEND_SHARD_PASSWORD", help="The password there.")
@click.pass_obj
def grant(database_url: str | None, role: str, user: str | None, password: str | None) -> None:
    """Let a role search shards, as a role of theirs: row security there follows that one.

    The password is better given by the environment: PGBLEND_SHARD_PASSWORD. Again replaces it.

    \b
    Examples:
      pgblend shards grant alice
    """
    with open_database(database_url) as connection:
        places_of(connection)
        fetch_rows(connection, _MAP, {"role": role, "user": user or role, "password": password})
    click.echo(f"role {role} goes to shards as {user or role}", err=True)


@command.command()
@click.pass_obj
def push(database_url: str | None) -> None:
    """Give shards what has changed: collections, grants, settings, profiles, embedding spaces.

    Until it is done, searches leave the shard out, and name it. Rows of attached tables follow, and
    edges from one shard to another.

    \b
    Examples:
      pgblend shards push
    """
    with open_database(database_url) as connection:
        give_each(places_of(connection), lambda place: _push(connection, place))
        settle_graph(connection)


def _push(coordinator: Connection, place: StorePlace) -> None:
    version = push_front(coordinator, place)
    rows = deliver(coordinator, place)
    told = f", {rows:,} changes of attached tables" if rows else ""
    click.echo(f"{place.name}: version {version}{told}", err=True)


@command.command()
@click.argument("name")
@click.argument("shards", nargs=-1, metavar="NAME=URL…")
@click.option("--cancel", is_flag=True, help="Let it take documents again; it stays as it is.")
@_pooler_option
@click.pass_obj
def split(
    database_url: str | None, name: str, shards: tuple[str, ...], cancel: bool, pooler: str | None
) -> None:
    """Let new shards have what the shard NAME has, each a part; one alone takes all of it.

    New shards are empty databases at the same revision. Searches go on, and so do ingests, but
    those of this shard wait while its last changes are copied. Killed in the middle, it is run
    again. The old database stays as it is, takes no documents, and may be dropped.

    \b
    Examples:
      pgblend shards split b1 b3=postgresql://admin@10.0.0.13/search b4=postgresql://admin@10.0.0.14/search
    """
    from pgblend.cli.shards.split import cancel_split, split_shard

    if cancel == bool(shards):
        raise click.UsageError("give NAME=URL of new shards, or --cancel")
    with open_database(database_url) as coordinator:
        if cancel:
            cancel_split(coordinator, name)
        else:
            split_shard(coordinator, name, shards, pooler, lambda text: click.echo(text, err=True))


@command.command()
@output.output_options("json", "csv", "md")
@click.pass_context
def check(ctx: click.Context, output_format: str) -> None:
    """Look for what is wrong: shards away or behind, documents at the wrong shard, open doors.

    Exit code 1: something is.

    \b
    Examples:
      pgblend shards check
    """
    with open_database(ctx.obj) as coordinator:
        problems = [
            {"name": name, "problem": problem} for name, problem in problems_of(coordinator)
        ]
    output.echo_list("problems", problems, ("name", "problem"), output_format)
    ctx.exit(ExitCode.ERROR if problems else ExitCode.OK)


@command.command()
@output.output_options("json", "csv", "md")
@click.pass_obj
def status(database_url: str | None, output_format: str) -> None:
    """Show each shard: its buckets, documents, and whether it has the last changes.

    `placed` are the collections that are on some shards only, and on this one.
    `waiting` says how many changes of attached tables it has not got, `waiting_since` since when.

    \b
    Examples:
      pgblend shards status
    """
    with open_database(database_url) as connection:
        version = fetch_value(connection, _VERSION)
        rows = [
            {
                "number": place.number,
                "name": place.name,
                **fetch_rows(connection, _OWN, {"number": place.number})[0],
                **state_of(place, version),
                **waiting_for(connection, place),
            }
            for place in places_of(connection)
        ]
    output.echo_list("shards", rows, _COLUMNS, output_format)


def state_of(place: StorePlace, version: int) -> dict[str, object]:
    """Return what a shard says of itself, and whether that is right."""
    try:
        with connect(place.url) as shard:
            known = fetch_rows(shard, _OF_SHARD)
    except UserError as error:
        return {"state": str(error), "documents": None, "front_version": None}
    if not known or known[0]["number"] != place.number:
        return {"state": "is not this shard", "documents": None, "front_version": None}
    current = known[0]["front_version"] == version
    state = "ready" if current else "lacks changes: pgblend shards push"
    return {**known[0], "state": state}

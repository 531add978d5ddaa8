"""The command `pgblend`: a group whose sub-commands are imported only when they run."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, cast

import click

from pgblend.cli.base.errors import ExitCode, UserError
from pgblend.cli.base.output import terminal_is_safe
from pgblend.cli.base.prefork import hand_on

# Commands by what people do: name -> short help. Written down here so that `pgblend --help` imports
# none of the modules; a test holds both to what the modules say.
GROUPS = {
    "Search": {
        "query": "Search by words and meaning together.",
        "search": "Search by words (BM25).",
        "vsearch": "Search by meaning (vectors).",
        "facets": "Count values over all candidates of a search.",
        "graph": "What links to what, and searches that follow it.",
        "diagnose": "Say why a document is or is not found.",
    },
    "Bring in": {
        "ingest": "Read files and put their text into a collection.",
        "sync": "Bring in what is new: files that changed, messages that came.",
        "table": "Let collections follow tables, a document each row.",
        "document": "List, show, change and delete documents.",
        "forget": "Delete a document, and its text wherever it was copied to.",
        "collection": "List, add, remove and share collections.",
        "worker": "Give vectors to the chunks that wait for one, as they come.",
        "space": "Spaces: plan, make, fill, index, compare, switch, tune, drop.",
        "reindex": "Bring the lexical index up to date, and show it.",
    },
    "Ask": {
        "ask": "Answer a question from passages, with citations.",
        "context": "Gather passages within a budget of tokens.",
    },
    "Measure": {
        "eval": "Measure search quality on judged queries, inside the database.",
        "calibrate": "Make relevance a probability, by judged queries.",
        "experiment": "Compare two profiles on live searches, by what people open.",
    },
    "Run": {
        "up": "Start the private server, the gateway, a worker and the page.",
        "down": "Stop the private server and what runs beside it; the data stay.",
        "open": "Open the page of the private server in a browser.",
        "status": "Show what runs, where, and in which version.",
        "warm": "Read what searches read into the server's memory, after a restart.",
        "psql": "Open psql on the database; all arguments go to psql.",
        "doctor": "Check every part, and say how to mend what is broken.",
        "models": "Show, test and choose the models that serve each task.",
        "config": "Show and change settings in the database.",
        "profile": "List, show, make and drop profiles: named ranking recipes.",
        "gateway": "Run the model gateway.",
        "serve": "Let applications search over HTTP, each as a role of its own.",
        "door": "Let any SQL client search on a server without PL/Python.",
        "mcp": "Let agents search, over the Model Context Protocol.",
        "shards": "Spread a store over databases that one searches.",
        "migrate": "Create, upgrade or remove pgblend's database objects.",
    },
}
COMMANDS = {name: text for commands in GROUPS.values() for name, text in commands.items()}


class LazyGroup(click.Group):
    """A group that knows its sub-commands by name and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module; None for a name that does not exist."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"pgblend.cli.commands.{cmd_name}")
        command: click.Command = module.command
        command.name = cmd_name
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by group, without importing them."""
        width = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in commands.items()])

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line; nothing that it tells of steers a terminal."""
        with terminal_is_safe():
            return super().main(*args, **kwargs)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the group's own options; an unknown one names the two nearest."""
        with _nearest_named():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; what fails in the database becomes one line and an exit code."""
        try:
            with _nearest_named():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("pgblend: interrupted", err=True)
            ctx.exit(ExitCode.INTERRUPTED)
        except Exception as error:
            user_error = _database_error(error)
            if user_error is None:
                raise
            raise user_error from error


@contextmanager
def _nearest_named() -> Iterator[None]:
    """Let the error of an unknown option or command name the two nearest, however far they are."""
    try:
        yield
    except (click.NoSuchOption, click.NoSuchCommand) as error:
        ctx = error.ctx
        if ctx is None:
            raise
        from pgblend.plpy.base.setting_rules import nearest  # few calls are wrong

        if isinstance(error, click.NoSuchOption):
            given = error.option_name
            names = [
                name
                for one in ctx.command.get_params(ctx)
                for name in one.opts
                if name.startswith("--")
            ]
        else:
            given, names = error.command_name, cast(click.Group, ctx.command).list_commands(ctx)
        known = {name.strip("-"): name for name in names}
        found = [known[name] for name in nearest(given.strip("-"), list(known))]
        # Click would sort them; the nearest comes first.
        error.possibilities = None  # type: ignore[misc]
        told = f"{error.message} Did you mean {' or '.join(map(repr, found))}?"
        error.message = told  # type: ignore[misc]
        raise


def _database_error(error: Exception) -> UserError | None:
    """Translate an error of psycopg; None for any other, which stays as it is."""
    if "psycopg" not in sys.modules:
        return None
    from pgblend.cli.base.database import translate

    return translate(error)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--database-url",
    envvar="PGBLEND_DATABASE_URL",
    show_envvar=True,
    metavar="URL",
    help="PostgreSQL to use, as postgresql://user@host:5432/database; "
    "without it the private server of `pgblend up`.",
)
@click.version_option(package_name="pgblend")
@click.pass_context
def cli(ctx: click.Context, database_url: str | None) -> None:
    """Hybrid search that lives inside PostgreSQL.

    \b
    Begin:
      pgblend up
      pgblend ingest FOLDER --collection docs
      pgblend query 'a question'

    Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 error,
    2 wrong usage, 3 database unreachable or not migrated, 4 done in part, 5 no vectors to search,
    6 below what `eval gate` requires, 130 interrupted.
    """
    ctx.obj = database_url


def main() -> None:
    """Run the command line: in the process that is ready for it, else here."""
    code = hand_on(sys.argv[1:])
    if code is not None:
        sys.exit(code)
    cli(prog_name="pgblend")


if __name__ == "__main__":
    main()

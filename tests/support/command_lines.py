"""Command lines that help texts and pages show, held against the commands as they are."""

import shlex

import click

from pgblend.cli.main import cli


def unknown_parts(line: str) -> set[str]:
    """Return what a line that begins with `pgblend` names and no command has."""
    _, *words = shlex.split(line)
    command: click.Command = cli
    options = {"-h", "--help"}
    while True:
        options |= {name for p in command.params for name in (*p.opts, *p.secondary_opts)}
        if not isinstance(command, click.Group):
            break
        context = click.Context(command)
        found = next((w for w in words if command.get_command(context, w)), None)
        if found is None:
            if words and command is cli:
                return {words[0]}
            break
        words.remove(found)
        command = command.get_command(context, found)  # type: ignore[assignment]
    if command.name == "psql":  # its options are psql's own
        return set()
    return {word.partition("=")[0] for word in words if word.startswith("-")} - options

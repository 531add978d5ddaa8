"""The command reference: every command's own help as Markdown, for docs/reference/commands.md."""

from collections.abc import Iterator

import click

from pgblend.cli.main import cli


def commands_as_markdown() -> str:
    """Return a section for each command, in the order of the help."""
    return "\n".join(_sections(cli, _help_context(cli, "pgblend"))).rstrip()


def _help_context(
    command: click.Command, name: str, parent: click.Context | None = None
) -> click.Context:
    """Return the context that a run of the command has, at a fixed width."""
    settings = {**command.context_settings, "terminal_width": 90, "max_content_width": 90}
    return command.context_class(command, parent=parent, info_name=name, **settings)


def _sections(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"## {context.command_path}\n\n```\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None:
                yield from _sections(child, _help_context(child, name, context))

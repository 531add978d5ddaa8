"""`pgblend status`: what runs, where and in which version."""

from pathlib import Path
from typing import Any

import click

from pgblend.cli.base import output
from pgblend.cli.base.errors import ExitCode
from pgblend.cli.operate.state import data_directory_option


@click.command()
@data_directory_option
@output.output_options("json")
@click.pass_context
def command(ctx: click.Context, directory: Path, output_format: str) -> None:
    """Show what runs, where, and in which version.

    Describes the server of --database-url where one is named, else the private one. Ends with
    exit code 3 when the database does not run.

    \b
    Examples:
      pgblend status
      pgblend status --json
    """
    from pgblend.cli.operate.status_report import report_named_server, report_private_server

    report = report_named_server(ctx.obj) if ctx.obj else report_private_server(directory)
    if output_format == "json":
        output.echo_json(report)
    else:
        for line in _lines(report):
            click.echo(output.one_line(line))
    if not report["database"]["running"]:
        ctx.exit(ExitCode.DATABASE)


def _lines(report: dict[str, Any]) -> list[str]:
    database, gateway, versions = report["database"], report["gateway"], report["versions"]
    lines = [f"database: {_state(database)}"]
    if database["version"]:
        extensions = [f"{name} {version}" for name, version in database["extensions"].items()]
        revision = f"revision {database['migration'] or 'none: run pgblend migrate up'}"
        lines.append(f"server     PostgreSQL {database['version']}, {', '.join(extensions)}")
        lines.append(f"migration: {revision}")
        lines += map(_space, database["embedding_spaces"])
        lines += _summaries(database["summaries"] or {})
    if database["error"]:
        lines.append(f"error: {database['error']}")
    if database["data_directory"]:
        lines.append(f"data: {database['data_directory']}")
    lines.append(f"gateway: {_state(gateway)}")
    if (worker := report["worker"]) is not None:  # None: of a server that is not pgblend's own
        advice = "" if worker["running"] else "(pgblend worker)"
        lines.append(f"worker: {_state(worker)}{advice}")
    if (commands := report["commands"]) is not None:
        advice = "" if commands["running"] else "(searches here start slowly; pgblend up)"
        lines.append(f"commands: {_state(commands)}{advice}")
    if (page := report["page"]) is not None:
        lines.append(f"page: {_state(page)} (pgblend {'open' if page['running'] else 'up'})")
    lines.append(f"pgblend: {versions['pgblend']} on Python {versions['python']}")
    return lines


def _space(space: dict[str, Any]) -> str:
    line = f"vectors: {space['vectors']:,} of {space['chunks']:,} chunks in {space['name']}"
    line += f" ({space['model']}, {space['dimensions']} dimensions, {space['storage']})"
    line += ", which searches use" if space["active"] else ""
    line += f", {space['waiting']:,} waiting" if space["waiting"] else ""
    line += f", {space['bridged_from']} answers for these" if space["bridged_from"] else ""
    lost = f", {space['missing']:,} missing: run pgblend space fill {space['name']}"
    return line + (lost if space["missing"] else "")


def _summaries(counts: dict[str, int]) -> list[str]:
    """Tell of summaries where there are any, or are to be."""
    if not any(counts.values()):
        return []
    line = f"summaries: {counts['summaries']:,}"
    line += f", {counts['waiting']:,} waiting" if counts["waiting"] else ""
    line += f", {counts['given_up']:,} given up" if counts["given_up"] else ""
    other = f", {counts['other']:,} of another model: run pgblend worker summaries --renew"
    return [line + (other if counts["other"] else "")]


def _state(part: dict[str, Any]) -> str:
    return f"{'running' if part['running'] else 'not running'} {part['url'] or ''}"

"""`pgblend doctor`: check every part."""

from collections.abc import Sequence
from dataclasses import asdict

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import resolve_database_url
from pgblend.cli.base.errors import ExitCode
from pgblend.cli.operate.doctor import run_checks
from pgblend.cli.operate.doctor_checks import Check

_MARKS = {"ok": "✓ ok", "warning": "! warning", "problem": "✗ problem", "skipped": "- skipped"}


@click.command()
@output.output_options("json")
@click.pass_context
def command(ctx: click.Context, output_format: str) -> None:
    """Check every part, and say how to mend what is broken.

    Ends with exit code 1 when there is a problem; warnings alone end with 0.

    \b
    Examples:
      pgblend doctor
      pgblend doctor --json
    """
    checks = run_checks(resolve_database_url(ctx.obj))
    has_problem = any(check.status == "problem" for check in checks)
    if output_format == "json":
        output.echo_json(
            {
                "healthy": not has_problem,
                "checks": [asdict(check) | {"mend": "\n".join(check.mends)} for check in checks],
            }
        )
    else:
        _echo_checks(checks)
    if has_problem:
        ctx.exit(ExitCode.ERROR)


def _echo_checks(checks: Sequence[Check]) -> None:
    for check in checks:
        click.echo(f"{_MARKS[check.status]:<10} {check.name}: {output.one_line(check.found)}")
        for mend in check.mends:
            click.echo(f"{'':<10} → {mend}")

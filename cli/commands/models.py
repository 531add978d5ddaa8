"""`pgblend models`: which model serves which task, and whether it does."""

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import fetch_value, open_database
from pgblend.cli.base.errors import ExitCode, UserError, echo_hint
from pgblend.cli.embed.spaces import (
    TASKS,
    assigned_models,
    no_model,
    setting_of,
    space_in_use,
    switched_off,
)

_LIST_COLUMNS = ("task", "model", "source", "setting", "description")
_TEST_COLUMNS = ("task", "model", "outcome", "milliseconds", "detail")
_GATEWAY_URL = "SELECT blend.get_setting('gateway_url') #>> '{}'"
_SET = "SELECT blend.set_setting(%(name)s::text, to_jsonb(%(model)s::text))"
_RESET = "SELECT blend.reset_setting(%(name)s::text)"
_task = click.Choice(list(TASKS))


@click.group()
def command() -> None:
    """Show, test and choose the models that serve each task.

    \b
    Examples:
      pgblend models list
      pgblend models set answer openai/gpt-4o-mini
    """


@command.command("list")
@output.output_options("json", "csv", "md")
@click.pass_obj
def list_models(database_url: str | None, output_format: str) -> None:
    """List each task with the model that serves it.

    For embedding that is the model of the space in use, once there is one.

    \b
    Examples:
      pgblend models list
    """
    with open_database(database_url) as connection:
        rows = assigned_models(connection)
    output.echo_list("models", rows, _LIST_COLUMNS, output_format)


@command.command()
@click.argument("tasks", nargs=-1, type=_task)
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 600),
    default=60,
    show_default=True,
    help="Seconds that each model has.",
)
@output.output_options("json", "csv", "md")
@click.pass_obj
def test(
    database_url: str | None, tasks: tuple[str, ...], timeout: float, output_format: str
) -> None:
    """Ask the model of each task (default: all that have one) for something small.

    The calls are real ones, through the gateway, and cost what such calls cost.

    \b
    Examples:
      pgblend models test
      pgblend models test rerank --timeout 10
    """
    from pgblend.cli.embed.model_probe import probe_models

    with open_database(database_url) as connection:
        wanted = [row for row in assigned_models(connection) if not tasks or row["task"] in tasks]
        url = fetch_value(connection, _GATEWAY_URL)
    results = probe_models(_required(url), wanted, timeout)
    output.echo_list("tests", results, _TEST_COLUMNS, output_format)
    if any(result["outcome"] == "failed" for result in results):
        raise click.exceptions.Exit(ExitCode.ERROR)


@command.command("set")
@click.argument("task", type=_task)
@click.argument("model")
@click.option("--no-test", is_flag=True, help="Set it without asking the model first.")
@click.pass_obj
def set_model(database_url: str | None, task: str, model: str, no_test: bool) -> None:
    """Let MODEL serve TASK, if it answers a first call; `none` takes the task's model away.

    Name a hosted model as provider/model: openai/gpt-4o-mini, cohere/rerank-v3.5.

    \b
    Examples:
      pgblend models set rerank cohere/rerank-v3.5
      pgblend models set rerank none
    """
    from pgblend.cli.embed.model_probe import probe_models

    name = setting_of(task)
    with open_database(database_url) as connection:
        if model == "none":
            fetch_value(connection, _RESET, {"name": name})
            click.echo(f"{task}: {no_model(task)}", err=True)
            return
        if not no_test:
            url = _required(fetch_value(connection, _GATEWAY_URL))
            (result,) = probe_models(url, [{"task": task, "model": model}], 60)
            if result["outcome"] != "ok":
                raise UserError(
                    f"{model} does not serve {task}: {result['detail']}",
                    hint="mend that, or set it all the same with --no-test",
                )
        fetch_value(connection, _SET, {"name": name, "model": model})
        space = space_in_use(connection) if task == "embedding" else None
        switch = switched_off(connection, task)
    click.echo(f"{task}: {model}", err=True)
    if space and space["model"] != model:
        click.echo(f"searches use the space {space['name']}, of {space['model']}", err=True)
        echo_hint(f"pgblend space create NAME --model {model}, then fill it and switch")
    if switch is not None:
        click.echo(f"{switch} are off, so it is not asked yet", err=True)
        echo_hint(
            f"turn them on: pgblend config set {switch} true\n"
            f"or for one collection: pgblend config set {switch} true --collection NAME"
        )


def _required(url: str | None) -> str:
    if url is None:
        raise UserError(
            "gateway_url is not set, so no model can be asked",
            hint="run: pgblend up, or: pgblend config set gateway_url http://127.0.0.1:PORT",
        )
    return url

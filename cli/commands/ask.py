"""`pgblend ask`: citations for a question, and an answer that they bear out."""

import json
import sys
from typing import Any

import click

from pgblend.cli.answers.ask import ask, ask_streamed, echo_answer, unchecked_text
from pgblend.cli.base import output
from pgblend.cli.base.database import collect_warnings, open_database, tell_if_empty
from pgblend.cli.base.parameters import merge_pairs
from pgblend.cli.search.search_commands import (
    SearchRequest,
    history_option,
    search_options,
    stage_options,
)
from pgblend.cli.search.statements import wait_for_changes


@click.command()
@search_options
@history_option
@stage_options
@click.option("--profile", metavar="NAME", help="Named set of search options, such as balanced.")
@click.option(
    "--answer/--no-answer",
    "answer",
    default=None,
    help="Have the answer model answer, or show citations only; by default where a model is set.",
)
@click.option(
    "--max-tokens", type=click.IntRange(min=1), help="Most tokens of passages that it may read."
)
@click.option("--answer-tokens", type=click.IntRange(min=1), help="Most tokens of the answer.")
@output.output_options("json", "md")
@click.pass_obj
def command(
    database_url: str | None,
    request: SearchRequest,
    profile: str | None,
    answer: bool | None,
    max_tokens: int | None,
    answer_tokens: int | None,
    output_format: str,
) -> None:
    """Answer a question from passages, with citations.

    Every quotation is looked up word for word, and a sentence that no passage bears out is
    dropped. On a terminal the answer is shown as it comes, marked as unchecked until it is.

    \b
    Examples:
      pgblend ask 'how do I deploy?'
      pgblend ask 'how do I deploy?' --no-answer -n 3
    """
    named = {"max_tokens": max_tokens, "answer_tokens": answer_tokens}
    given = [(name, value) for name, value in named.items() if value is not None]
    parameters: dict[str, Any] = request.parameters() | {
        "profile": profile,
        "options": json.dumps(merge_pairs([*request.options.items(), *given])),
        "answer": answer,
    }
    is_streamed = output_format == "table" and answer is not False and sys.stdout.isatty()
    with open_database(database_url) as connection:
        warnings = collect_warnings(connection)
        wait_for_changes(connection, request.options)
        if is_streamed:
            with unchecked_text() as show:
                document = ask_streamed(connection, parameters, show)
        else:
            document = ask(connection, parameters)
        if not document["citations"]:
            tell_if_empty(connection)
    if output_format == "json":
        output.echo_json(document | {"warnings": warnings})
    else:
        echo_answer(document, output_format, answer)

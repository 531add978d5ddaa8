"""How a question's citations and answer look."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from pgblend.cli.base import output
from pgblend.cli.base.output import trusted
from pgblend.plpy.answers.parts import passage_label


def echo_answer(document: dict[str, Any], output_format: str, answer: bool | None) -> None:
    """Print the citations and then the answer, for people or as Markdown.

    `answer` is whether one was asked for: None by default, where a model is set.
    """
    if document["meta"]["abstained"] and not document["citations"]:
        click.echo("pgblend: no answer: nothing found has the relevance of abstain_below", err=True)
        return
    if not document["citations"]:
        click.echo("pgblend: no results", err=True)
        return
    if output_format == "md":
        click.echo(_markdown(document))
    else:
        _echo_terminal(document)
    for question in unanswered(document):
        click.echo(f"pgblend: no evidence for: {output.one_line(question)}", err=True)
    for sentence in left_out(document):
        text = output.one_line(sentence["text"])
        click.echo(f"pgblend: left out ({sentence['reason']}): {text}", err=True)
    for line in verdict(document, answer).splitlines():
        click.echo(f"pgblend: {line}", err=True)


def left_out(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the sentences of an answer that no passage bears out."""
    checks = document["checks"] or {"sentences": []}
    return [sentence for sentence in checks["sentences"] if not sentence["kept"]]


def unanswered(document: dict[str, Any]) -> list[str]:
    """Return the parts of a question that nothing bears out."""
    asked = document.get("questions", [])
    return [one["question"] for one in asked if not one["hasEvidence"]]


def verdict(document: dict[str, Any], answer: bool | None) -> str:
    """Say in a line what became of the answer; each problem is a line of its own."""
    checks = document["checks"]
    if checks is None:
        return f"citations only: {_why_no_answer(document['degraded'], answer)}"
    total = checks["kept"] + checks["dropped"]
    if document["meta"]["abstained"]:
        dropped = f", {output.counted(total, 'sentence')} had no support" if total else ""
        return f"no answer: these passages bear none out{dropped}"
    cut = "\nthe answer was cut at its limit of tokens" if document["meta"]["answerCut"] else ""
    said = f"{output.counted(total, 'sentence')} {'is' if total == 1 else 'are'} borne out"
    found = f"{checks['quotations_found']} of {output.counted(checks['quotations'], 'quotation')}"
    return f"{checks['kept']} of {said}, {found} found word for word{cut}"


def _why_no_answer(degraded: list[str], answer: bool | None) -> str:
    if answer is False:
        return "no answer was asked for"
    problems = [told.removeprefix("answer: ") for told in degraded if told.startswith("answer: ")]
    if not problems:
        return "no answer model is set (pgblend models set answer MODEL)"
    return "\n".join(map(output.one_line, problems))


@contextmanager
def unchecked_text() -> Iterator[Callable[[str], None]]:
    """Show a text on the terminal as it grows, marked as unchecked, and take it away at the end."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(file=trusted(err=False), highlight=False, markup=False, emoji=False)
    with Live(console=console, transient=True, refresh_per_second=12) as live:

        def show(text: str) -> None:
            shown = Text("not checked yet\n", style="bold yellow")
            shown.append(output.printable(text), style="not bold dim")
            live.update(shown)

        yield show


def place_of_citation(citation: dict[str, Any]) -> str:
    """Name where a citation stands: its URI or source key, lines and pages."""
    lines = (citation["startLine"], citation["endLine"])
    spans = [] if lines[0] is None else [lines]
    return output.one_line(passage_label(citation | {"spans": spans}))


def _echo_terminal(document: dict[str, Any]) -> None:
    from rich.console import Group
    from rich.text import Text

    lines = []
    for citation in document["citations"]:
        line = Text(f"[{citation['citation']}] ", style="bold")
        line.append(output.one_line(citation["title"] or citation["source_key"]))
        line.append(f"\n    {place_of_citation(citation)}", style="not bold cyan")
        if citation["quote"]:
            style = "not bold" if citation["isChecked"] else "not bold dim"
            line.append(f"\n    “{output.one_line(citation['quote'])}”", style=style)
        lines.append(line)
    if document["answer"] is not None:
        lines += [Text(), Text(output.printable(document["answer"]))]
    output.echo_renderable(Group(*lines))


def _markdown(document: dict[str, Any]) -> str:
    escape = output.escape_markdown
    paragraphs = []
    for citation in document["citations"]:
        title = escape(output.one_line(citation["title"] or citation["source_key"]))
        quote = escape(output.one_line(citation["quote"] or ""))
        place = escape(place_of_citation(citation))
        paragraphs.append(f"{citation['citation']}. **{title}** ({place})\n\n   > {quote}")
    if document["answer"] is not None:
        paragraphs.append(escape(output.printable(document["answer"])))
    return "\n\n".join(paragraphs)

"""Rendering: what people, spreadsheets, Markdown and scripts get."""

import io
import re

import click
import pytest
from click.testing import CliRunner
from rich.text import Text

from pgblend.cli.base import output
from pgblend.cli.search.search_output import place, reasons


@click.command()
@output.output_options("json", "csv")
def formats(output_format: str) -> None:
    click.echo(output_format)


@pytest.mark.parametrize(
    ("arguments", "chosen"),
    [([], "table"), (["--json"], "json"), (["--csv"], "csv"), (["--csv", "--csv"], "csv")],
)
def test_one_format_is_chosen(arguments: list[str], chosen: str) -> None:
    assert CliRunner().invoke(formats, arguments).stdout == f"{chosen}\n"


def test_two_formats_are_wrong_usage() -> None:
    result = CliRunner().invoke(formats, ["--json", "--csv"])
    assert result.exit_code == 2
    assert "--json and --csv exclude each other" in result.stderr


def test_a_snippet_is_split_into_text_and_hits() -> None:
    snippet = "a &lt;mark&gt; is <mark>no</mark> hit &amp;\n\n <mark>this</mark>"
    assert output.marked_pieces(snippet) == [
        ("a <mark> is ", False),
        ("no", True),
        (" hit & ", False),
        ("this", True),
    ]
    assert output.marked_pieces("") == []


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert output.one_line("a\x1b[31mred\x07\n\tb\x9b") == "a [31mred b"
    assert output.printable("a\x1b\n\tb") == "a\N{REPLACEMENT CHARACTER}\n\tb"
    assert output.marked_pieces("a\x1b]0;title\x07") == [("a ]0;title ", False)]


def test_markdown_is_escaped() -> None:
    assert output.escape_markdown("a|b *c* [d](e) <f>") == r"a\|b \*c\* \[d\](e) \<f\>"


def test_csv_writes_null_lists_and_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"a": None, "b": [1, 2], "c": 'say "hi", twice\nnow', "d": True}]
    output.echo_csv(rows, ("a", "b", "c", "d"))
    assert capsys.readouterr().out == 'a,b,c,d\n,"[1, 2]","say ""hi"", twice\nnow",true\n'


def test_csv_without_rows_is_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    output.echo_csv([], ("a", "b"))
    assert capsys.readouterr().out == "a,b\n"


def test_files_are_named_once_and_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [("file:///b", "b"), (None, "a"), ("file:///b", "c"), ("", "d")]
    output.echo_files([{"uri": uri, "source_key": key} for uri, key in pairs])
    assert capsys.readouterr().out == "file:///b\na\nd\n"


def test_a_table_is_whole_and_plain_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    long_text = "word " * 200 + "[bold]end[/bold]"
    output.echo_rows([{"name": long_text, "size": 3}], ("name", "size"), "table")
    written = capsys.readouterr().out
    assert long_text in written
    assert "\x1b" not in written


def test_a_terminal_gets_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout", terminal)
    output.echo_renderable(Text("bright", style="bold"))
    assert terminal.getvalue() == "\x1b[1mbright\x1b[0m\n"


@pytest.mark.parametrize(
    ("uri", "lines", "expected"),
    [
        ("a.md", (None, None), "a.md"),
        ("a.md", (3, 3), "a.md:3"),
        ("a.md", (3, 9), "a.md:3-9"),
        (None, (3, 9), "key:3-9"),
    ],
)
def test_a_place_has_its_lines(
    uri: str | None, lines: tuple[int | None, int | None], expected: str
) -> None:
    row = {"uri": uri, "source_key": "key", "start_line": lines[0], "end_line": lines[1]}
    assert place(row) == expected


def test_reasons_name_the_arms_and_their_ranks() -> None:
    arms = {"vector": {"rank": 3, "score": 0.7}, "lexical": {"rank": 1, "score": 2.5}}
    assert reasons(arms) == "lexical #1, vector #3"
    assert reasons(None) == ""


RUN = {"run_id": 7, "judged_set": "a-long-name", "state": "done", "degraded_queries": 0}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (60, ["run_id   judged_set    state   degraded_queries",
              "7   a-long-name   done                   0"]),
        (40, ["run_id            7", "judged_set        a-long-name", "state             done",
              "degraded_queries  0", "", "run_id            7"]),
        (24, ["run_id            7", "judged_set        a-long", "-name"]),
    ],
)  # fmt: skip
def test_tables_stand_below_each_other_where_they_do_not_fit(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    columns: int,
    expected: list[str],
) -> None:
    for name, value in {"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": str(columns)}.items():
        monkeypatch.setenv(name, value)
    output.echo_rows([RUN, RUN], tuple(RUN), "table")
    lines = [
        re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in capsys.readouterr().out.splitlines()
    ]
    assert max(map(len, lines)) <= columns
    assert [line for line in lines if "─" not in line][: len(expected)] == expected
    assert (output.width()) == columns


def test_elsewhere_tables_stay_whole(capsys: pytest.CaptureFixture[str]) -> None:
    output.echo_rows([RUN | {"state": "word " * 99}], tuple(RUN), "table")
    assert len(capsys.readouterr().out.splitlines()) == 3

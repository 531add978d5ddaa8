"""The trace of a search as text: its lines, at any width, without control characters."""

import io

import pytest
from rich.console import Console

from pgblend.cli.search.explain_text import render_text
from pgblend.cli.search.explain_trace import NOTHING, Trace, detail, figure, milliseconds
from pgblend.cli.search.search_output import without_markdown
from support.traces import HOSTILE, hostile, result, stage, trace


def printed(document: dict, width: int = 200) -> list[str]:
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)
    console.print(render_text(Trace.from_json(document)))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def line(lines: list[str], first: str) -> str:
    """The line that begins with this word, with single spaces."""
    (found,) = [text for text in lines if text.split()[:1] == [first]]
    return " ".join(found.split())


def test_every_stage_has_its_line() -> None:
    lines = printed(trace())
    assert lines[:2] == [
        "roll back",
        "profile balanced · mode fast · collections manual · 100 ms",
    ]
    for expected in (
        "embed 80.0 ms █████████████▌ 1 source gateway · model ms 83.0",
        "lexical 4.0 ms ▋ 100",
        "vector 6.0 ms █▍ 100 degraded: some passages have no vector yet",
        "fuzzy not run: every word is known",
        "fuse 0.5 ms ▌ 150 fusion rrf",
        "dedup 0.2 ms ▌ 140 dropped 10",
        "rerank not run: mode is fast",
        "page <0.1 ms ▌ 3",
        "fetch 9.0 ms ██ 3",
        "other 0.3 ms █",
    ):
        assert line(lines, expected.split()[0]) == expected


def test_what_a_row_answers() -> None:
    row = result(1)
    row["details"] = {"answers": ["who\nmade it", "when"]}
    lines = printed(trace(results=[row, result(2)]))
    assert [text.strip() for text in lines if "answers" in text] == ["answers who made it; when"]


def test_settings_that_somebody_set() -> None:
    lines = printed(trace())
    assert line(lines, "candidate_depth") == "candidate_depth 50 call"
    assert not any("rrf_k" in text for text in lines)
    default = {"rrf_k": {"value": 60, "source": "default"}}
    assert not any("settings" in text for text in printed(trace(settings=default)))


def test_each_result_tells_its_arms_and_places() -> None:
    lines = printed(trace())
    first = [line.split() for line in lines].index(["1", "0.900", "Page", "1"])
    assert [" ".join(text.split()) for text in lines[first : first + 5]] == [
        "1 0.900 Page 1",
        "found by lexical #1 (9.5), vector #41 (0.25)",
        "parts lexical 0.600 + vector 0.400 - recency 0.100",
        "places fuse 2 → dedup 1",
        "2 0.450 Page 2",
    ]


def test_bars_stand_where_the_stages_ran() -> None:
    """A model's call is drawn from when it was sent."""
    calls = [stage("lexical", 50.0, 9, start=0.0), stage("embed", 25.0, 1, {"model_ms": 70}, 50.0)]
    lines = printed(trace(stages=calls, total_ms=100.0))
    lexical, embed = (text for text in lines if text.split()[:1] in (["lexical"], ["embed"]))
    assert "  ████████   " in lexical
    assert " ░░░░░░░░████ " in embed
    assert embed.index("████") == lexical.index("█") + 8


def test_places_that_stay_are_told_once() -> None:
    stayed = result(1, places={"fuse": 1, "dedup": 1, "page": 1})
    assert line(printed(trace(results=[stayed])), "places") == "places fuse 1"


def test_a_search_without_results() -> None:
    lines = printed(trace(count=0))
    assert not any("moved" in text for text in lines)
    nothing = trace(count=0, stages=[], settings={}, degraded=[], total_ms=0)
    assert printed(nothing) == [
        "roll back",
        "profile balanced · mode fast · collections manual · 0.0 ms",
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    for document in (trace(), hostile()):
        assert max(len(text) for text in printed(document, width)) <= width


def test_control_characters_are_taken_out() -> None:
    text = "\n".join(printed(hostile(), 300))
    assert "\x1b" not in text
    assert "\x00" not in text
    assert "\x07" not in text
    assert HOSTILE[0] in text


def test_figures() -> None:
    assert detail([0.123456, {"a": 2.0}, "x\ny", None]) == '[0.1235, {"a": 2.0}, "x\\ny", null]'
    assert detail(0.000012345) == "1.234e-05"
    assert [milliseconds(value) for value in (0, 0.01, 9.96, 99.96, 150.4, 1500)] == [
        "0.0 ms", "<0.1 ms", "10.0 ms", "100.0 ms", "150 ms", "1.50 s",
    ]  # fmt: skip
    assert (figure(None), figure(1.0), figure(12.34567)) == (NOTHING, "1", "12.35")


def test_what_a_session_does_once_is_told_apart() -> None:
    stages = [
        {"name": "warm_up", "start_ms": 0, "ms": 900.0, "rows": None},
        {"name": "lexical", "start_ms": 900, "ms": 10.0, "rows": 2},
        {"name": "fetch", "start_ms": 910, "ms": 10.0, "rows": 2},
    ]
    lines = printed(trace(stages=stages, total_ms=920.0))
    assert lines[1].endswith("20.0 ms after 900 ms of warm up, once a session")
    bars = {
        line.split()[0]: line.count("█") for line in lines if line.split()[1:3] == ["10.0", "ms"]
    }
    assert bars == {"lexical": 8, "fetch": 8}
    (warm_up,) = [line for line in lines if line.split()[:2] == ["warm", "up"]]
    assert "█" not in warm_up


@pytest.mark.parametrize(
    ("snippet", "shown"),
    [
        ("the [guide](a.md) to **it** and `a_b *c*`", "the guide to it and a_b *c*"),
        (r"\*stars\* and \_lines\_ of 2*3*4", "*stars* and _lines_ of 2*3*4"),
        ("```python <mark>run</mark> = '**x**' ``` then", "<mark>run</mark> = '**x**' then"),
        ("&gt; [!NOTE] a &lt;b id=&quot;x&quot;&gt;bold&lt;/b&gt; &amp;amp;", "NOTE a bold &amp;"),
        ("it[^2] is ==so== at &lt;https://x.example/?a&amp;b&gt;", "it is so at https://x.example/?a&amp;b"),
        ("|:--:|--| a &lt;br/&gt; H~2~O :::tip ------+---", "a H2O"),
        ("a &lt; b, `&lt;br&gt;`, a == b, c == d", "a &lt; b, &lt;br&gt;, a == b, c == d"),
    ],
)  # fmt: skip
def test_snippets_lose_the_marks_of_markdown(snippet: str, shown: str) -> None:
    assert " ".join(without_markdown(snippet).split()) == shown

"""What the documentation shows: its pages, their examples, and the outputs that these must have.

An example is a fenced block of the language sh, sql or python. A block of the language `text` that
follows is its output, in which `…` stands for anything, on a line of its own for any lines.
`<!-- fails -->` before a block says that it must end with an error, `<!-- slow -->` that slow tests
alone run it (make frameworks, make all), `<!-- not run: WHY -->` that none does. The reader sees
everything that runs: a comment that holds code is refused (`hidden_steps`).
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
HANDBOOK = DOCS / "examples" / "handbook"
_EXAMPLE = re.compile(
    r"(?:^<!-- (?P<mark>fails|slow|not run: [^\n]*) -->\n)?"
    r"^```(?P<language>sh|sql|python)\n(?P<code>.*?)^```$"
    r"(?:\n+```text\n(?P<output>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Example:
    """One block, the line that it begins on, and what it prints: None where nothing is shown."""

    language: str
    code: str
    line: int
    output: str | None
    output_span: tuple[int, int]
    fails: bool = False
    is_slow: bool = False
    not_run: str = ""


def pages() -> list[Path]:
    """Return all pages with examples: README and docs/, without what is made from the code."""
    made = DOCS / "reference"
    return [ROOT / "README.md", *sorted(p for p in DOCS.rglob("*.md") if made not in p.parents)]


def examples(text: str) -> list[Example]:
    """Return a page's examples in their order."""
    return [
        Example(
            language=found["language"],
            code=found["code"],
            line=text.count("\n", 0, found.start("code")),
            output=found["output"],
            output_span=found.span("output"),
            fails=found["mark"] == "fails",
            is_slow=found["mark"] == "slow",
            not_run=(found["mark"] or "").partition("not run: ")[2],
        )
        for found in _EXAMPLE.finditer(text)
    ]


def hidden_steps(text: str) -> list[str]:
    """Return a page's comments that are more than a mark: the reader misses what they hold."""
    comments = re.findall(r"^<!-- ?(.*?)-->", text, re.DOTALL | re.MULTILINE)
    return [comment for comment in comments if "\n" in comment.strip()]


def matches(shown: str, printed: str) -> bool:
    """Tell whether an example printed what its page shows."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + r"\n"
        for line in clean(shown).splitlines()
    )
    return re.fullmatch(pattern, clean(printed)) is not None


def clean(text: str) -> str:
    """Return the text without empty lines around it, and without spaces at the ends of lines."""
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    return "".join(f"{line}\n" for line in lines)


def headings(text: str) -> set[str]:
    """Return the anchors that GitHub makes of a page's headings."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#{1,6} (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def links(text: str) -> list[str]:
    """Return where a page's links and pictures lead."""
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"\]\(([^)\s]+)\)", prose)

"""Text of a markup language, read line by line: each line of the source has one in the text."""

from dataclasses import dataclass, field

from pgblend.cli.ingest.document import (
    Document,
    Heading,
    LeftOut,
    Link,
    storable_text,
    storable_value,
)
from pgblend.cli.ingest.title import stated_title, top_heading

_ELSEWHERE = "it is a file of its own"
_BRING_IT = "bring it in as well: its text is found under its own name"


@dataclass
class LineText:
    """Collects what is shown of each line; what shows nothing leaves an empty one."""

    lines: list[str] = field(default_factory=list)
    headings: list[tuple[int, int, str]] = field(default_factory=list)
    metadata: dict[str, object] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    links: list[tuple[int, str]] = field(default_factory=list)

    def add(self, line: str = "") -> None:
        """Add what a line shows."""
        self.lines.append(line.rstrip())

    def add_heading(self, text: str, level: int) -> None:
        """Add a line that is a heading."""
        text = " ".join(text.split())
        if text:
            self.headings.append((len(self.lines), level, text))
        self.lines.append(text)

    def add_link(self, target: str) -> None:
        """Note a link of the line that is read."""
        self.links.append((len(self.lines), target))

    def tell_file(self, name: str) -> None:
        """Note a file that the text takes in, which is not followed."""
        if name:
            self.left_out.append(LeftOut(storable_text(name), _ELSEWHERE, _BRING_IT))

    def document(self) -> Document:
        """Return the document; its title is what it says, else its only top heading."""
        offsets = [0]
        for line in self.lines:
            offsets.append(offsets[-1] + len(line) + 1)
        headings = tuple(
            Heading(offsets[number], level, text) for number, level, text in self.headings
        )
        metadata = dict(self.metadata)
        title = stated_title(str(metadata.pop("title", "")))
        return Document(
            title=title or top_heading(headings),
            text="\n".join(self.lines),
            metadata=storable_value(metadata),
            headings=headings,
            links=tuple(Link(offsets[number], target, "path") for number, target in self.links),
            left_out=tuple(self.left_out),
        )

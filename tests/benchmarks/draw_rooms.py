"""The rooms of cli/ and plpy/ and which imports which, drawn into docs/images/rooms.svg.

    python tests/benchmarks/draw_rooms.py

A room stands above those that it imports; what points upward or aside is dashed. What commands
import (every room), imports of base (by every room) and numbers are left out.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs/images/rooms.svg"
# From top to bottom.
LINES: tuple[tuple[str, ...], ...] = (
    ("cli/commands", "cli/integrations"),
    ("cli/operate", "cli/doors", "cli/measure"),
    ("cli/answers", "cli/documents", "cli/embed", "cli/graph"),
    ("cli/search", "cli/models", "cli/shards"),
    ("cli/base",),
    ("plpy/shards",),
    ("plpy/search",),
    ("plpy/answers", "plpy/graph", "plpy/models"),
    ("plpy/lexical",),
    ("plpy/base",),
)
_WIDE, _HIGH, _ABOVE, _ROW = 130, 40, 30, 96
_WIDTH = 860
_STYLE = """\
text{font:14px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#1f2933}
rect{fill:#fff;stroke:#829ab1;stroke-width:1.2}
.p{fill:#e3f2fd;stroke:#2f80c2}path{fill:none;stroke:#829ab1;stroke-width:1.1}
.u{stroke-dasharray:4 3}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}
rect{fill:#1c2733;stroke:#627d98}.p{fill:#12324d;stroke:#4a9de0}path{stroke:#627d98}}"""
_HEAD = (
    '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
    ' orient="auto"><path d="M0 0L8 4L0 8"/></marker></defs>'
)


def imports() -> set[tuple[str, str]]:
    """Return which room imports which, also where an import waits for a call."""
    found: set[tuple[str, str]] = set()
    rooms = {room for line in LINES for room in line}
    for floor in ("cli", "plpy"):
        for path in (ROOT / floor).rglob("*.py"):
            source = "/".join(path.relative_to(ROOT).parts[:2])
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pgblend."):
                    parts = [*str(node.module).split("."), node.names[0].name]
                    found.add((source, "/".join(parts[1:3])))
    return {(source, to) for source, to in found if {source, to} <= rooms and source != to}


def places() -> dict[str, tuple[int, int]]:
    """Return the middle of each room's upper edge."""
    return {
        room: (_WIDTH * (2 * at + 1) // (2 * len(line)), _ABOVE + row * _ROW)
        for row, line in enumerate(LINES)
        for at, room in enumerate(line)
    }


def arrow(source: tuple[int, int], target: tuple[int, int]) -> str:
    """Draw from one room's edge to another's; dashed where it does not lead down."""
    (x, y), (to_x, to_y) = source, target
    kind = "" if to_y > y else ' class="u"'
    if y == to_y:
        side = _WIDE // 2 if to_x > x else -_WIDE // 2
        middle = y + _HIGH // 2
        way = f"M{x + side} {middle}L{to_x - side} {middle}"
    else:
        start, end = (y, to_y + _HIGH) if to_y < y else (y + _HIGH, to_y)
        bend = (end - start) // 2
        way = f"M{x} {start}C{x} {start + bend} {to_x} {end - bend} {to_x} {end}"
    return f'<path{kind} d="{way}" marker-end="url(#a)"/>'


def drawn() -> str:
    """Return the picture."""
    at = places()
    arrows = [
        arrow(at[source], at[target])
        for source, target in sorted(imports())
        if source != "cli/commands" and not target.endswith("/base")
    ]
    boxes = []
    for room, (x, y) in at.items():
        floor = ' class="p"' if room.startswith("plpy") else ""
        boxes += [
            f'<rect{floor} x="{x - _WIDE // 2}" y="{y}" width="{_WIDE}" height="{_HIGH}" rx="6"/>',
            f'<text x="{x}" y="{y + 25}" text-anchor="middle">{room}</text>',
        ]
    height = _ABOVE + len(LINES) * _ROW - _ROW + _HIGH + _ABOVE
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img"'
        ' aria-label="Rooms of cli and plpy, and which imports which">'
    )
    style = f"<style>\n{_STYLE}\n</style>"
    return "\n".join([opening, style, _HEAD, *arrows, *boxes, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")

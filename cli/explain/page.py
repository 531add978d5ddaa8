"""One self-contained page about one search: it fetches nothing, and users' texts stay texts."""

import base64
import hashlib
from importlib.resources import files

from pgblend.cli import output
from pgblend.cli.explain import flow, movement, timeline
from pgblend.cli.explain.figures import detail, figure, label, milliseconds
from pgblend.cli.explain.score import score_rows
from pgblend.cli.explain.trace import Trace

_TEMPLATES = files("pgblend.cli.explain") / "templates"


def render_page(trace: Trace) -> str:
    """Return the page as HTML."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FunctionLoader(_read),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["ms"] = milliseconds
    environment.filters["line"] = output.one_line
    environment.filters["label"] = label
    environment.filters["detail"] = detail
    environment.filters["figure"] = figure
    script = _read("explain.js")
    return environment.get_template("explain.html").render(
        trace=trace,
        flows={"wide": flow.draw_flow(trace, flow.WIDE), "tall": flow.draw_flow(trace, flow.TALL)},
        timelines={
            "wide": timeline.draw_timeline(trace, timeline.WIDE),
            "slim": timeline.draw_timeline(trace, timeline.SLIM),
        },
        movements={
            "wide": movement.draw_movement(trace, movement.WIDE),
            "slim": movement.draw_movement(trace, movement.SLIM),
        },
        most_lines=movement.MOST_LINES,
        hue=movement.hue,
        score_rows=score_rows,
        style=Markup(_read("explain.css")),
        script=Markup(script),
        script_hash=_content_hash(script),
    )


def _read(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _content_hash(script: str) -> str:
    """Return the hash by which the page's policy lets this script run, and no other."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"

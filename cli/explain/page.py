"""One self-contained page about one search: it fetches nothing, and users' texts stay texts."""

import base64
import hashlib
from importlib.resources import files

from pgblend.cli.explain import flow, movement, timeline
from pgblend.cli.explain.figures import detail, figure, label, milliseconds
from pgblend.cli.explain.score import score_rows
from pgblend.cli.explain.trace import Trace
from pgblend.cli.pages.environment import page_environment


def render_page(trace: Trace) -> str:
    """Return the page as HTML."""
    from markupsafe import Markup

    environment = page_environment("pgblend.cli.explain")
    environment.filters["ms"] = milliseconds
    environment.filters["label"] = label
    environment.filters["detail"] = detail
    environment.filters["figure"] = figure
    script = (files("pgblend.cli.explain") / "templates" / "explain.js").read_text(encoding="utf-8")
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
        script=Markup(script),
        script_hash=_content_hash(script),
    )


def _content_hash(script: str) -> str:
    """Return the hash by which the page's policy lets this script run, and no other."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"

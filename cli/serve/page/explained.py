"""A search explained, as pictures that the page draws: the geometry of `--explain-html`."""

from dataclasses import asdict
from typing import Any

from pgblend.cli.explain import flow, movement
from pgblend.cli.explain.figures import milliseconds
from pgblend.cli.explain.score import ScoreRow, score_rows
from pgblend.cli.explain.trace import Trace
from pgblend.cli.serve import operations
from pgblend.cli.serve.door import Caller, Door


async def explained(door: Door, caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
    """Search once more with a trace; return what its pictures are made of."""
    found = await operations.explain(door, caller, given)
    trace = Trace.from_json(found)
    return {
        "total_ms": trace.total_ms,
        "flows": {name: _flow(trace, layout) for name, layout in _FLOWS.items()},
        "movements": {name: _movement(trace, layout) for name, layout in _MOVEMENTS.items()},
        "results": [
            {
                "rank": result.rank,
                "chunk_id": result.row["chunk_id"],
                "title": result.title,
                "score": result.score,
                "parts": [_part(row) for row in score_rows(result)],
            }
            for result in trace.results
        ],
        "degraded": found["degraded"],
    }


_FLOWS = {"wide": flow.WIDE, "tall": flow.TALL}
_MOVEMENTS = {"wide": movement.WIDE, "slim": movement.SLIM}
_SIZES = ("width", "height", "list_top", "row", "radius", "lacking_y", "page_end", "arms_end")


def _flow(trace: Trace, layout: flow.Layout) -> dict[str, Any]:
    drawn = flow.draw_flow(trace, layout)
    boxes = [
        {
            "name": box.stage.name,
            "label": box.stage.label,
            "state": box.stage.state,
            "reason": box.stage.reason,
            "time": milliseconds(box.stage.ms),
            "rows": box.stage.rows,
            "unit": box.stage.unit,
            **{side: getattr(box, side) for side in ("x", "y", "width", "height", "bar")},
        }
        for box in drawn.boxes
    ]
    ribbons = [asdict(ribbon) for ribbon in drawn.ribbons]
    return {"width": drawn.width, "height": drawn.height, "boxes": boxes, "ribbons": ribbons}


def _movement(trace: Trace, layout: movement.Layout) -> dict[str, Any]:
    drawn = movement.draw_movement(trace, layout)
    lines = [
        {
            "rank": line.result.rank,
            "title": line.result.title,
            "hue": line.hue,
            "solid": line.solid,
            "dashed": line.dashed,
            "dots": [asdict(dot) for dot in line.dots],
        }
        for line in drawn.lines
    ]
    columns = [asdict(column) for column in drawn.columns]
    sizes = {name: getattr(drawn, name) for name in _SIZES}
    return {**sizes, "columns": columns, "lines": lines}


def _part(row: ScoreRow) -> dict[str, Any]:
    return {**asdict(row), "label": row.label, "family": row.family}

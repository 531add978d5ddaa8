"""How names, times and numbers of a trace are written for people."""

from typing import Any

from pgblend.cli import output

NOTHING = "\N{EN DASH}"
LABELS = {"strong_signal": "signal", "document": "documents"}


def label(name: str) -> str:
    """Write a stage's or column's name as people read it."""
    return LABELS.get(name, name.replace("_", " "))


def milliseconds(value: float) -> str:
    """Write a time with as many digits as mean something."""
    if value >= 1000:
        return f"{value / 1000:.2f} s"
    if value >= 100:
        return f"{value:.0f} ms"
    return f"{value:.1f} ms" if value >= 0.05 or value == 0 else "<0.1 ms"


def figure(value: float | None) -> str:
    """Write a number with four significant digits, nothing as a dash."""
    return NOTHING if value is None else f"{value:.4g}"


def detail(value: Any) -> str:
    """Write a detail of a stage on one line, numbers with four significant digits."""
    return output.one_line(output.cell_text(_rounded(value)))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    return value

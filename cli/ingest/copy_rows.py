"""Rows as COPY reads them: values with tabs between them, a row a line."""

from collections.abc import Sequence


def copy_row(values: Sequence[str | int | Sequence[int] | None]) -> str:
    """Write a row: None is NULL, a list or tuple an array of whole numbers."""
    return "\t".join(map(_field, values)) + "\n"


def _field(value: str | int | Sequence[int] | None) -> str:
    if value is None:
        return r"\N"
    if isinstance(value, str):
        text = value.replace("\\", r"\\").replace("\t", r"\t")
        return text.replace("\n", r"\n").replace("\r", r"\r")
    if isinstance(value, int):
        return str(value)
    return f"{{{','.join(map(str, value))}}}"

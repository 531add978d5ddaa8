"""The SQLSTATE of an error that a statement has raised."""

from typing import Any


def error_state(error: Any) -> str:
    """Return the SQLSTATE of a plpy.SPIError, "" where it has none.

    Only exceptions of states that PostgreSQL names have an attribute `sqlstate`; ours (PB001 …)
    have the number that the server holds: five characters of six bits each.
    """
    if getattr(error, "spidata", None) is None:
        return ""
    number = error.spidata[0]
    return "".join(chr((number >> shift & 0x3F) + ord("0")) for shift in range(0, 30, 6))

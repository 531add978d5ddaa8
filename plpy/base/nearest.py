"""What somebody may have meant by a name that there is not."""

from collections.abc import Collection, Sequence

_MOST_COMPARED = 200  # characters of a name: comparing takes the square of their number


def nearest(given: str, known: Sequence[str]) -> list[str]:
    """Return the two names that are nearest to the given one, however far they are."""
    from difflib import get_close_matches  # of few calls

    return get_close_matches(given[:_MOST_COMPARED], known, n=2, cutoff=0)


def nearest_told(given: str, known: Collection[str]) -> str:
    """Say which names are the nearest, for an error about the given one."""
    names = nearest(given, sorted(known))
    if not names:
        return "there is none"
    return f"the nearest {'is' if len(names) == 1 else 'are'} {' and '.join(names)}"

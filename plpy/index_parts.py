"""All that the parser needs of a chunk, in one call."""

from pgblend.plpy.identifiers import identifiers
from pgblend.plpy.indexable_text import indexable_text


def index_parts(title: str, heading: str, content: str, own_start: int) -> list[str]:
    """Return title, heading, content, and content before own_start, as the parser gets them; last
    the identifiers of all three as a tsvector, "=" before each, weight C, all at position 1: they
    have places in no phrase.
    """
    quoted = (
        "'=" + name.replace("\\", "\\\\").replace("'", "''") + "':1C"
        for name in identifiers(f"{title} {heading} {content}", True)
    )
    parts = (title, heading, content, content[:own_start])
    return [*map(indexable_text, parts), " ".join(quoted)]

"""A name as a whole, made comparable."""

LONGEST = 255


def whole_name(text: str) -> str:
    """Return a name in one case with single spaces; "" for what is too long for a name."""
    return " ".join(text.casefold().split()) if len(text) <= LONGEST else ""

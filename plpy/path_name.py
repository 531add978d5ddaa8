"""Paths as links write them, made comparable."""

import re

from pgblend.plpy.link_name import link_name

# A page is often linked to by the name of what it is built from, or the other way round.
PAGE_SUFFIX = re.compile(r"\.(md|markdown|mdown|mkd|html?|xhtml|rst|txt|adoc|org|tex)$", re.I)


def path_name(path: str) -> str:
    """Return a path with each part as link_name has it, without the suffix of a page.

    The parts "." and ".." are followed, not above the root; empty ones are left out.
    """
    parts: list[str] = []
    for part in PAGE_SUFFIX.sub("", path.replace("\\", "/")).split("/"):
        if part == "..":
            parts[-1:] = []
        elif part not in ("", "."):
            parts.append(part)
    names = [link_name(part) for part in parts]
    joined = "/".join(name for name in names if name)
    return joined if len(joined.encode()) <= 800 else link_name(joined)

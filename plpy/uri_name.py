"""Addresses in the web, made comparable."""

from urllib.parse import unquote, urlsplit

from pgblend.plpy.link_name import link_name


def uri_name(uri: str) -> str | None:
    """Return host and path of an http address, without the fragment; None for what is none."""
    try:
        parts = urlsplit(uri.strip())
        host = parts.hostname
    except ValueError:
        return None
    if parts.scheme.lower() not in ("http", "https") or not host:
        return None
    name = f"//{host.removeprefix('www.')}{unquote(parts.path).rstrip('/')}"
    name += f"?{parts.query}" if parts.query else ""
    return name if len(name.encode()) <= 800 else link_name(name)

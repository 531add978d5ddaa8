"""The date of a text: what the text or its file says of itself, before the file's time."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from pgblend.cli.ingest.document import Document

# Metadata that tell a document's date, the first that there is: of mail and front matter, then a
# document's own properties.
_KEYS = (
    *("date", "published", "published_at", "publishedat", "datepublished", "pubdate"),
    *("modified", "updated", "updated_at", "updatedat", "lastmod", "last_modified", "lastmodified"),
    *("datemodified", "moddate", "created", "created_at", "createdat", "creationdate"),
)
# As PDF has it: D:20260131120000+01'00'.
_OF_PDF = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(Z|[+-]\d\d'?\d\d)?")


def own_date(document: Document) -> datetime | None:
    """Return a document's own date, of messages that of the last one; None where it has none."""
    times = _known(message.time for message in document.messages)
    if times:
        return max(times)
    by_key = {str(key).lower().replace("-", "_"): key for key in document.metadata}
    found = _known(document.metadata[by_key[key]] for key in _KEYS if key in by_key)
    return found[0] if found else None


def _known(values: Iterable[Any]) -> list[datetime]:
    return [moment for moment in map(moment_of, values) if moment is not None]


def moment_of(value: Any) -> datetime | None:
    """Return the moment that a text tells: of ISO 8601, of mail, of PDF; in UTC without a zone."""
    text = str(value).strip() if value else ""
    if not re.search(r"\d", text) or len(text) > 100:
        return None
    try:
        moment = _read(text)
        if moment is None:
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC)
    except (OverflowError, TypeError, ValueError):
        return None


def _read(text: str) -> datetime | None:
    of_pdf = _OF_PDF.match(text)
    if of_pdf:
        year, *rest, zone = of_pdf.groups()
        month, day, *time = (int(part) if part else None for part in rest)
        hour, minute, second = (part or 0 for part in time)
        moment = datetime(int(year), month or 1, day or 1, hour, minute, second, tzinfo=UTC)
        if zone and zone != "Z":
            shift = datetime.strptime(zone.replace("'", ""), "%z").utcoffset()
            moment -= shift or moment - moment
        return moment
    if re.match(r"\d{4}-\d\d-\d\d", text):
        return datetime.fromisoformat(text)
    # A bare year or number is no date of a mail.
    return parsedate_to_datetime(text) if re.search(r"[A-Za-z]{3}", text) else None

"""Rows of the search log, as the gateway would write them."""

import json
from datetime import UTC, datetime
from uuid import uuid4

from support.database import Database

HOUR = datetime(2026, 11, 21, 10, tzinfo=UTC)


def log_search(db: Database, minute: int = 0, ms: float = 10, **fields: object) -> str:
    """Log a search of that minute of HOUR that took ms milliseconds; return its id."""
    row = {
        "search_id": str(uuid4()),
        "searched_at": HOUR.replace(minute=minute).isoformat(),
        "role_name": "app",
        "query": "red wine",
        "collections": ["a"],
        "profile": "balanced",
        "mode": "fast",
        "result_count": 1,
        "milliseconds": ms,
        "stages": [],
        "degraded": [],
        "results": [],
        "trace": {},
        "purpose": "search",
        **fields,
    }
    db.rows(
        "INSERT INTO pgblend_data.search_log"
        " SELECT (jsonb_populate_record(NULL::pgblend_data.search_log, %s)).*",
        json.dumps(row),
    )
    return str(row["search_id"])

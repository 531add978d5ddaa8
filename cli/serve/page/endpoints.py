"""What the page asks beside the endpoints that everybody has; not part of the interface."""

from pgblend.cli.evaluate.candidates import ARMS
from pgblend.cli.serve import request_schemas
from pgblend.cli.serve.endpoints import Endpoint
from pgblend.cli.serve.page.around import around
from pgblend.cli.serve.page.explained import explained
from pgblend.cli.serve.page.judgements import judge, judgements
from pgblend.cli.serve.page.overview import overview
from pgblend.cli.serve.page.tuning import Tuner
from pgblend.cli.serve.request_schemas import closed_object

_QUERY = request_schemas.SEARCH["properties"]["query"]
_GRADE = request_schemas.FEEDBACK["properties"]
_JUDGEMENT = closed_object(
    ["query", "chunk_id", "grade"],
    {"query": _QUERY, "chunk_id": _GRADE["chunk_id"], "grade": _GRADE["grade"]},
)

_WEIGHT = {"type": "number", "minimum": 0, "maximum": 1000}
_TUNE = closed_object(
    ["judged_set", "weights"],
    {
        "judged_set": {"type": "string"},
        "collection": {"type": ["string", "null"]},
        "profile": request_schemas.SEARCH["properties"]["profile"],
        "weights": {
            "type": "object",
            "additionalProperties": False,
            "properties": {arm: _WEIGHT for arm in ARMS},
        },
    },
)
_NODE = closed_object(
    ["node", "limit"],
    {
        "node": {"type": "string", "pattern": "^(document|chunk|entity):[0-9]{1,18}$"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 200},
    },
)


def page_endpoints() -> tuple[Endpoint, ...]:
    """Return the page's endpoints; they keep what is tuned on."""
    query = closed_object(["query"], {"query": _QUERY})
    return (
        Endpoint("/page/overview", overview, "search", closed_object([], {}), ""),
        Endpoint("/page/explain", explained, "search", request_schemas.SEARCH, ""),
        Endpoint("/page/judge", judge, "feedback", _JUDGEMENT, ""),
        Endpoint("/page/judgements", judgements, "search", query, ""),
        Endpoint("/page/around", around, "search", _NODE, ""),
        Endpoint("/page/tune", Tuner().tune, "search", _TUNE, ""),
    )

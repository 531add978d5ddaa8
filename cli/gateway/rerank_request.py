"""What a caller may send to /v1/rerank: the fields of Cohere and Jina."""

from dataclasses import dataclass

from pgblend.cli.gateway import fields

MAX_DOCUMENTS = 1000
_FIELDS = {"documents", "model", "query", "return_documents", "timeout_ms", "top_n"}


@dataclass(frozen=True)
class RerankRequest:
    """A checked call: score each document against the query."""

    model: str
    query: str
    documents: list[str]
    top_n: int | None = None
    timeout_ms: int | None = None


def parse_rerank_request(body: bytes) -> RerankRequest:
    """Return the checked call, or raise a GatewayError that names the offending field."""
    given = fields.json_object(body, _FIELDS)
    documents = given.get("documents")
    if not isinstance(documents, list) or not documents:
        message = "`documents` must be a list of at least one text"
        raise fields.bad("invalid_documents", message, "documents")
    if len(documents) > MAX_DOCUMENTS:
        message = f"`documents` has {len(documents)} texts; send at most {MAX_DOCUMENTS}"
        raise fields.bad("too_many_documents", message, "documents")
    return RerankRequest(
        fields.model_name(given.get("model")),
        fields.text(given.get("query"), "query"),
        [fields.text(item, f"documents[{index}]") for index, item in enumerate(documents)],
        fields.whole_number(given.get("top_n"), "top_n", 1, MAX_DOCUMENTS),
        fields.timeout_ms(given.get("timeout_ms")),
    )

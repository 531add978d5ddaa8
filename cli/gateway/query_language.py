"""The language of a query."""

from pgblend.cli.ingest.language import likely_language

UNDETERMINED = "und"  # as ISO 639 has it
# Below, a guess at a query's few words is wrong too often: the prompt for all languages serves.
_LEAST_SCORE = 0.4


def query_language(query: str) -> str:
    """Return a query's ISO 639 code, `und` where it cannot be told."""
    language, score = likely_language(query[:1000])
    return language if score >= _LEAST_SCORE else UNDETERMINED

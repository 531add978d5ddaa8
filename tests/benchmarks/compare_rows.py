"""Rows of two databases with the same content, call by call: what a faster search must not change.

    python tests/benchmarks/compare_rows.py BASE_URL NEW_URL CORPUS [QUESTIONS]

Make the databases from one template, and put other routines into one of them (migrate apply).
CORPUS (corpora.py) gives the questions and their vectors. Every call of SHAPES is made on both, and
all columns, errors with their hints, and WARNINGs are compared. Ends with 1 where any differ.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psycopg
from corpora import Question, corpus_of

HYBRID, LEXICAL, VECTOR = "blend.hybrid_search", "blend.lexical_search", "blend.vector_search"
SHARE: dict[str, Any] = {"share": {"lt": 40}}
RARE: dict[str, Any] = {"share": {"in": [3, 5]}}
# (routine, query, filter, options)
SHAPES: list[tuple[str, str, dict[str, Any] | None, dict[str, Any]]] = [
    (HYBRID, "{}", None, {}),
    (HYBRID, "{}", None, {"candidate_depth": 20, "ef_search": 40}),
    (HYBRID, "{}", None, {"candidate_depth": 300}),
    (HYBRID, "{}", None, {"vector_scan": "exact"}),
    (HYBRID, "{}", None, {"vector_scan": "index"}),
    (HYBRID, "{}", SHARE, {}),
    (HYBRID, "{}", RARE, {}),
    (HYBRID, "{}", {"not": SHARE}, {"vector_scan": "index"}),
    (HYBRID, "{}", {"or": [RARE, {"$source_key": {"prefix": "1"}}]}, {}),
    (HYBRID, "{}", None, {"language": "english"}),
    (HYBRID, "{}", SHARE, {"language": "english", "level": "document"}),
    (HYBRID, "{}", None, {"level": "document"}),
    (HYBRID, '{} -"of the"', None, {}),
    (HYBRID, '{} "of the"', SHARE, {}),
    (HYBRID, '"in the" OR {}', None, {"level": "document"}),
    (HYBRID, "{} xqzzywv", None, {"fuzzy": "on"}),
    (HYBRID, "{}", None, {"fusion": "rrf", "feedback": {"weight": 0.5}}),
    (HYBRID, "{}", None, {"feedback": {"weight": 0.5, "passages": 3}}),
    (HYBRID, "{}", None, {"mmr": {"lambda": 0.5}}),
    (HYBRID, "{}", None, {"graph": {"weight": 0.5}}),
    (HYBRID, "{}", None, {"dedup": "off", "offset": 5, "per_document": 1}),
    (HYBRID, "{}", None, {"rerank": "on", "rerank_scores": {str(n): n % 7 / 7 for n in range(60)}}),
    (HYBRID, "{}", None, {"context_chars": {"before": 50, "after": 50}}),
    (HYBRID, "{}", {"share": {"lt": "x"}}, {}),
    (LEXICAL, "{}", SHARE, {}),
    (VECTOR, "{}", None, {}),
    (VECTOR, "{}", SHARE, {"offset": 3}),
    ("blend.fuzzy_search", "{} worlb", None, {}),
]


class Side:
    """One of the databases."""

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True)
        self.warnings: list[str | None] = []
        self.connection.add_notice_handler(lambda said: self.warnings.append(said.message_primary))

    def answer(self, statement: str, values: list[str | None]) -> tuple[Any, list[str | None]]:
        """Return rows and warnings of a call, or its error."""
        self.warnings.clear()
        try:
            rows: Any = self.connection.execute(statement.encode(), values).fetchall()
        except psycopg.Error as error:
            rows = error.sqlstate, error.diag.message_primary, error.diag.message_hint
        return rows, list(self.warnings)


def calls(question: Question) -> Iterator[tuple[str, list[str | None]]]:
    """Yield the calls of a question."""
    for routine, text, filter_, options in SHAPES:
        patient = {"timeouts_ms": {"lexical": 600_000, "total": 600_000}, "mode": "fast"}
        values = [
            text.replace("{}", question.text.replace('"', "")),
            None if filter_ is None else json.dumps(filter_),
            json.dumps(patient | options),
        ]
        given = "%s, 10, filter => %s::jsonb, options => %s::jsonb"
        if routine not in (LEXICAL, "blend.fuzzy_search"):
            given += ", query_embedding => %s"
            values.append(question.as_sql)
        yield f"SELECT r::text FROM {routine}({given}) AS r", values


def main(base_url: str, new_url: str, corpus: str, most: str = "25") -> int:
    """Compare all calls; return how many differ."""
    base, new = Side(base_url), Side(new_url)
    made = differ = failed = 0
    for question in corpus_of(corpus).questions[: int(most)]:
        for statement, values in calls(question):
            made += 1
            was, now = (side.answer(statement, values) for side in (base, new))
            failed += bool(was[0]) and isinstance(was[0][0], str)
            if was != now:
                differ += 1
                print(f"{statement}\n{values[:3]}\n  was {was}\n  now {now}")
    print(f"{made} calls, {failed} of them errors; {differ} differ")
    return differ


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) > 0)

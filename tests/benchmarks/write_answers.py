"""What this tree answers, as files: 504 searches with all their columns, and the HTTP description.

    python tests/benchmarks/write_answers.py --server URL FOLDER

Three judged sets, 42 questions of each, four sets of options. The databases stay on the server
(bench_blend_…), and the next tree's routines are put into them: so ids are the same.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from corpora import Question, judged
from systems.blend import Blend
from systems.server_database import server_url

from pgblend.cli.doors.openapi import openapi

SETS = ("xquad-en", "cranfield", "cosqa_test")
QUESTIONS = 42
PATIENT = {"mode": "fast", "timeouts_ms": {"lexical": 600_000, "total": 600_000}}
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"fusion": "rrf", "fuzzy": "on", "mmr": {"lambda": 0.5}, "context_chars": {"before": 50}},
    {"level": "document", "dedup": "near", "feedback": {"weight": 0.5, "passages": 2}, "offset": 3},
    {
        "rerank": "on",
        "rerank_scores": {str(chunk): chunk % 7 / 7 for chunk in range(2000)},
        "boosts": [{"filter": {"$source_key": {"prefix": "1"}}, "factor": 2}],
        "per_document": 1,
        "strict": True,
    },
)
SEARCH = """
    SELECT to_jsonb(r) FROM blend.hybrid_search(
        %s, 10, options => %s::jsonb, query_embedding => %s) AS r
"""


def answers(system: Blend, questions: list[Question]) -> Iterator[str]:
    """Yield the rows of all searches, a line each, or the error of one."""
    for question in questions:
        for options in OPTIONS:
            asked = json.dumps(PATIENT | options)
            rows = system.connection.execute(SEARCH, [question.text, asked, question.as_sql])
            for (row,) in rows.fetchall():
                yield json.dumps([question.key, OPTIONS.index(options), row], sort_keys=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="What this tree answers, as files.")
    parser.add_argument(
        "--server", type=server_url, required=True, help="a superuser's URL without a database"
    )
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for name in SETS:
        corpus = judged(name, QUESTIONS)
        system = Blend(given.server)
        system.load(corpus)
        lines = [f"{line}\n" for line in answers(system, corpus.questions[:QUESTIONS])]
        (given.folder / f"{name}.jsonl").write_text("".join(lines))
        system.close()
    described = json.dumps(openapi(), indent=1, sort_keys=True)
    (given.folder / "openapi.json").write_text(f"{described}\n")


if __name__ == "__main__":
    main()

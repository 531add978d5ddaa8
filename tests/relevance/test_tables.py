"""Questions about figures in tables, with and without what a table's rows are to be read with.

The documents and judgements are our own (support/table_documents.py), the model is the default.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from pgblend.cli.base.extras import how_to_install, missing
from pgblend.cli.main import cli
from pgblend.cli.measure.compare import compare_paired
from support.database import Database
from support.gateway_process import GatewayProcess
from support.table_documents import KINDS, Question, answers, questions, write_reports

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing("local")), reason=f"needs {how_to_install('local')}"),
]
# A hit is a passage that has the row, among the first five.
DEPTH = 5
# The model's last bits differ between processors.
ONE_QUESTION = 0.015
FIGURES: dict[str, dict[str, float]] = json.loads(
    (Path(__file__).parent / "figures.json").read_text(encoding="utf-8")
)["tables"]
# The same passages without contexts, as a collection of their own.
_WITHOUT = """
    SELECT count(i.*)
    FROM (
        SELECT d.source_key, d.title, d.text_search_config, d.content_hash,
            jsonb_agg(to_jsonb(c) - 'context' - 'document' ORDER BY c.chunk_index) AS chunks
        FROM pgblend_data.document AS d
        JOIN pgblend_data.chunk AS c ON c.document_id = d.id
        JOIN pgblend_data.collection AS n ON n.id = d.collection_id AND n.name = %s
        GROUP BY d.id
    ) AS s
    CROSS JOIN LATERAL ingest_document(%s, s.source_key, '', title => s.title,
        language => s.text_search_config, chunks => s.chunks, content_hash => s.content_hash) AS i
"""


@pytest.fixture(scope="module")
def tables(
    module_url: str, module_connection: psycopg.Connection, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    """Each kind of file in a collection of its name, and once more without contexts."""

    def pgblend(*arguments: str) -> None:
        result = CliRunner().invoke(cli, ["--database-url", module_url, *arguments])
        assert result.exit_code == 0, result.output

    db = Database(module_connection)
    folder = tmp_path_factory.mktemp("tables")
    for kind in KINDS:
        write_reports(folder / kind, kind)
        pgblend("ingest", str(folder / kind), "--collection", kind)
        db.rows("SELECT add_collection(%s)", f"{kind}_without")
        assert db.value(_WITHOUT, kind, f"{kind}_without") > 0
    with GatewayProcess("--preload") as gateway:
        db.rows("SELECT set_setting('gateway_url', to_jsonb(%s::text))", gateway.url)
        pgblend("ingest", str(folder / kind), "--collection", kind)
        yield db


@pytest.fixture(scope="module")
def hits(tables: Database) -> dict[str, list[float]]:
    """For each collection, 1 for a question whose row is among the first passages, else 0."""
    return {
        name: [_hit(tables, name, question) for question in questions()]
        for name in (*KINDS, *map("{}_without".format, KINDS))
    }


def _hit(db: Database, collection: str, question: Question) -> float:
    rows = db.rows(
        "SELECT source_key, content FROM hybrid_search(%s, %s, collections => ARRAY[%s])",
        *(question.text, DEPTH, collection),
    )
    return float(
        any(key.startswith(question.report) and answers(question, text) for key, text in rows)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_found_by_what_their_table_says(hits: dict[str, list[float]], kind: str) -> None:
    compared = compare_paired(hits[f"{kind}_without"], hits[kind])
    print(kind, compared)
    assert compared.queries >= 60
    assert compared.mean_b >= FIGURES[kind]["hit@5"] - ONE_QUESTION
    assert compared.mean_b >= compared.mean_a


def test_contexts_gain_over_all_kinds(hits: dict[str, list[float]]) -> None:
    with_context, without = (
        [hit for kind in KINDS for hit in hits[f"{kind}{ending}"]] for ending in ("", "_without")
    )
    compared = compare_paired(without, with_context)
    print("all", compared)
    assert compared.low > 0

"""Commands on a server without PL/Python: each says and does what it does inside."""

import re
from collections.abc import Callable
from difflib import unified_diff
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import PATIENT, Server
from managed.test_migrate import owned, run
from psycopg.types.json import Jsonb

from pgblend.cli.base.database import connect
from pgblend.cli.main import cli
from support.database import Database
from support.gateway_process import GatewayProcess
from support.model_provider import DEFAULT_DIMENSIONS, ModelProvider

FILES = {
    "deploy.md": "# Deploy\n\nA release goes out on Tuesday. See [undo](undo.md).\n",
    "undo.md": "---\ntags: [ops]\n---\n# Undo\n\nRoll a release back with the old tag.\n",
    "wine.txt": "Red wine of France, and a quokka by the sea.\n",
}
CHANGED = "# Undo\n\nAn older tag is put back.\n"
JUDGED = {
    "corpus.jsonl": '{"_id": "d1", "title": "", "text": "ships sail the sea"}\n'
    '{"_id": "d2", "title": "", "text": "red wine of France"}\n',
    "queries.jsonl": '{"_id": "q1", "text": "sail"}\n{"_id": "q2", "text": "wine"}\n',
    "qrels.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n",
}
TABLE = """
    CREATE TABLE public.tickets (id integer PRIMARY KEY, subject text, body text);
    INSERT INTO public.tickets VALUES (1, 'Late', 'The parcel is late.'), (2, 'Small', 'Boots.')
"""
OWNER = "managed_owner"
COMMANDS = """
ingest {docs} -c docs
sync {docs} -c docs --json
sync {docs} -c docs --json
table attach tickets --text body --title subject -c tickets
table list --json
worker --once --json
query release -c docs --json
search release -c docs --json
vsearch release -c docs --json
facets release --key $collection --json
context release --json
ask release --json
diagnose release undo.md --json
graph neighbors undo.md -c docs --json
graph edges --json
graph import {edges} -c docs --json
document list -c docs --json
document show wine.txt -c docs --json
document delete wine.txt -c docs --yes
collection list --json
collection add empty
space list --json
space create second --model {model} --dimensions {dimensions}
space fill second
space index second
eval import {judged} --set ships --json
space fill second
space switch second
space drop default --yes
eval run --set ships --json
eval run --set ships --arm lexical --json
eval gate --set ships --min ndcg@10=0.1
eval audit -c ships --json
calibrate -c ships --json
space tune --json
config set rrf_k 70
profile set mine --from balanced --setting rrf_k=20
reindex --json
reindex --rebuild -c docs --json
document set-metadata undo.md {{"a":1}} -c docs
document reset-metadata undo.md -c docs
document rights undo.md -c docs --json
collection grant docs pgblend_reader
collection revoke docs pgblend_reader
graph mentions -c docs
graph show undo.md -c docs
worker status --json
worker retry
config get rrf_k
config reset rrf_k
profile show mine --json
profile drop mine
forget deploy.md -c docs --yes --json
table detach tickets --yes
collection remove empty --yes
query release --json
"""
# Times, sizes and ids: a door gathers what a statement needs first, and sequences keep no places.
NOISE = re.compile(
    r'("(?:ms|search|assembly|\w*(?:_ms|_s|seconds|bytes|ids?))": |document |document:|#|^)'
    r"(?:-?[\d.]+(?:e-\d+)?(?!\w)|[0-9a-f]{6}\b| +\d+,?$)"
    r"|\d+(?:\.\d+)? m?s\b|\d{4}-\d\d-\d\d[ T][\d:.+]+|pgblend_test\w+",
    re.MULTILINE,
)


def said(url: str, line: str, **places: object) -> tuple[int, str]:
    """Return the exit code of a command and what it says, but for times and sizes."""
    arguments = [word.format(**places) for word in line.split()]
    made = CliRunner().invoke(cli, ["--database-url", url, *arguments])
    output = made.output.replace(OWNER, "pgblend").replace(
        "now, if no session adds passages", "now"
    )
    return made.exit_code, NOISE.sub(r"\1~", output)


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, object]:
    for name, texts in {"docs": FILES, "judged": JUDGED}.items():
        (tmp_path / name).mkdir()
        for file, text in texts.items():
            (tmp_path / name / file).write_text(text)
    (tmp_path / "edges.csv").write_text("source,target,type\nundo.md,wine.txt,cites\n")
    return {name: tmp_path / name for name in ("docs", "judged")} | {
        "edges": tmp_path / "edges.csv"
    }


@pytest.mark.slow
def test_commands_do_and_say_the_same(
    server: Server,
    template: str,
    new_database: Callable[..., str],
    gateway: GatewayProcess,
    model_provider: ModelProvider,
    folders: dict[str, object],
) -> None:
    places = folders | {"model": model_provider.model, "dimensions": DEFAULT_DIMENSIONS}
    inside = new_database(template)
    with owned(new_database(), OWNER, "CREATEROLE") as outside:
        assert run(outside, "migrate", "up", "--managed").exit_code == 0
        for url in (inside, outside):
            with connect(url) as connection:
                admin = Database(connection)
                admin.rows("SELECT set_setting('gateway_url', to_jsonb(%s::text))", gateway.url)
                admin.rows("SELECT set_setting('timeouts_ms', %s)", Jsonb(PATIENT))
                model = model_provider.model
                admin.rows("SELECT set_setting('embedding_model', to_jsonb(%s::text))", model)
                connection.execute(TABLE.encode())
        differing = []
        for line in filter(None, COMMANDS.split("\n")):
            if line.startswith("sync"):
                (folders["docs"] / "undo.md").write_text(CHANGED)
            one, other = said(inside, line, **places), said(outside, line, **places)
            if one != other or one[0]:
                difference = unified_diff(one[1].split("\n"), other[1].split("\n"), n=1)
                differing += [line, one[0], other[0], *difference]
        if differing:
            pytest.fail("\n".join(map(str, differing)))

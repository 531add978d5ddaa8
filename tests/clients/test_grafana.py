"""The dashboards that compose.yaml gives to Grafana: of its schema, and of what pgblend has.

Grafana itself is in no package registry, so it does not run here. Its own types read the
dashboards, the server runs their SQL as an analyst, and the gateway has their metrics.
"""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import yaml
from clients.conftest import run_or_skip

from support.database import Database
from support.documentation import ROOT
from support.model_provider import GatewayProcess
from support.search_log import HOUR, log_search

GRAFANA = ROOT / "docker" / "grafana"
DASHBOARDS = sorted((GRAFANA / "dashboards").glob("*.json"))
PANELS: list[dict[str, Any]] = [
    panel for file in DASHBOARDS for panel in json.loads(file.read_text("utf-8"))["panels"]
]
TARGETS = [(panel["title"], target) for panel in PANELS for target in panel["targets"]]
SQL = {title: target["rawSql"] for title, target in TARGETS if "rawSql" in target}
PROMQL = {title: target["expr"] for title, target in TARGETS if "expr" in target}
# What Grafana puts for its macros.
MACROS = {r"\$__timeFilter\((\w+)\)": r"\1 BETWEEN '2026-11-01Z' AND '2026-12-01Z'"}


@pytest.mark.slow
def test_grafanas_own_types_read_the_dashboards(tmp_path: Path) -> None:
    packages = ("@grafana/schema", "typescript")
    run_or_skip(packages, "npm", "install", "--silent", "--no-audit", *packages, folder=tmp_path)
    for number, file in enumerate(DASHBOARDS):
        (tmp_path / f"{number}.ts").write_text(
            'import type { Dashboard, Panel } from "@grafana/schema";\n'
            f"const shown = {file.read_text('utf-8').strip()} satisfies Dashboard;\n"
            "export const panels: Panel[] = shown.panels;\n"
        )
        compiler = ["node_modules/.bin/tsc", "--noEmit", "--strict", "--skipLibCheck"]
        command = [*compiler, "--moduleResolution", "bundler", "--module", "esnext"]
        done = subprocess.run(
            [*command, f"{number}.ts"], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{file.name}: {done.stdout}"


def test_panels_have_places_of_their_own_and_known_sources() -> None:
    assert len(PANELS) == len(SQL) + len(PROMQL) == len({panel["id"] for panel in PANELS})
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in PANELS]
    assert len(set(places)) == len(places)
    provisioned = GRAFANA / "provisioning" / "datasources" / "pgblend.yaml"
    sources = yaml.safe_load(provisioned.read_text("utf-8"))["datasources"]
    known = {(source["type"], source["uid"]) for source in sources}
    named = [panel["datasource"] for panel in PANELS]
    named += [target["datasource"] for _, target in TARGETS]
    assert {(source["type"], source["uid"]) for source in named} == known


@pytest.fixture
def analyst(committed: Database, connect_as: Callable[..., psycopg.Connection]) -> Database:
    """An analyst, where searches were logged and a model was called."""
    committed.rows("SELECT add_collection('a')")
    committed.rows("UPDATE pgblend_data.collection SET created_at = %s", HOUR)
    stages = [{"name": "lexical", "ms": 4, "rows": 1}]
    log_search(committed, 1, stages=stages, result_count=0, degraded=["vector: late"])
    committed.rows(
        "INSERT INTO pgblend_data.model_call (called_at, task, model, provider, outcome, attempts,"
        " input_tokens, output_tokens, cost_usd, milliseconds)"
        " VALUES (%s, 'embedding', 'm', 'p', 'ok', 1, 1, 0, 0.1, 5)",
        HOUR,
    )
    committed.rows("SELECT create_embedding_space('s', 'openai/m', 3, probe => false)")
    analyst = Database(connect_as("pgblend_analyst"))
    committed.rows("SELECT grant_collection('a', %s)", analyst.connection.info.user)
    return analyst


def test_every_query_of_a_panel_finds_rows(analyst: Database) -> None:
    for title, query in SQL.items():
        for macro, stands_for in MACROS.items():
            query = re.sub(macro, stands_for, query)
        assert "$__" not in query, title
        cursor = analyst.connection.execute(query.encode())
        assert cursor.fetchall(), title
        panel = next(panel for panel in PANELS if panel["title"] == title)
        names = [column.name for column in cursor.description or ()]
        assert (names[0] == "time") == (panel["type"] == "timeseries"), title


def test_every_metric_of_a_panel_is_the_gateways(gateway: GatewayProcess) -> None:
    shown = httpx.get(f"{gateway.url}/metrics", headers=gateway.headers).text
    families = set(re.findall(r"^# TYPE (\w+) ", shown, re.MULTILINE))
    for title, query in PROMQL.items():
        names = set(re.findall(r"pgblend_\w+", query))
        assert {re.sub(r"_bucket$", "", name) for name in names} <= families, title

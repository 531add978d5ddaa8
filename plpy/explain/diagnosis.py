"""Why a document is or is not among the results of a search."""

from typing import Any

from pgblend.plpy.explain.candidates import diagnose_arms, diagnose_conditions
from pgblend.plpy.explain.facts import Call, gathered_facts
from pgblend.plpy.explain.places import diagnose_places
from pgblend.plpy.search.store import StorePort
from pgblend.plpy.session import Database
from pgblend.plpy.settings.check import write_json


def diagnosis(db: Database, call: Call, store: StorePort) -> str:
    """Return as JSON what search_diagnose tells: stages end where the document is lost."""
    facts = gathered_facts(db, call, store)
    stages: list[dict[str, Any]] = []
    for diagnose in (diagnose_conditions, diagnose_arms, diagnose_places):
        findings, verdict, suggestion = diagnose(facts)
        stages += findings
        if verdict is not None:
            break
    last = stages[-1]
    return write_json(
        {
            "query": call.query,
            "document": facts["document"],
            "stages": stages,
            "lost_at": None if last["passed"] else last["stage"],
            "verdict": verdict,
            "suggestion": suggestion,
        }
    )

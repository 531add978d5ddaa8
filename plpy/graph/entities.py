"""What a model found in a text, merged and normalised."""

from collections.abc import Mapping
from typing import Any

from pgblend.plpy.graph.names import link_name

EntityKey = tuple[str, str]


def entity_edges(
    result: Mapping[str, Any],
) -> tuple[list[dict[str, Any]], list[tuple[EntityKey, EntityKey, str]]]:
    """Return entities {type, key, name, description}, each once, and (source, target, type).

    Names are compared by link_name, types without case. A relation between names of which the text
    has several entities means the first. One to itself, or to a name that is no entity, is left
    out. `result` has `entities` and `relations`.
    """
    entities: dict[EntityKey, dict[str, Any]] = {}
    by_name: dict[str, EntityKey] = {}
    for entity in result["entities"]:
        key = (link_name(entity["type"]), link_name(entity["name"]))
        if not all(key):
            continue
        name, description = " ".join(entity["name"].split())[:500], entity.get("description")
        described = {"type": key[0], "key": key[1], "name": name}
        entities.setdefault(key, described | {"description": description or None})
        by_name.setdefault(key[1], key)
    relations: dict[tuple[EntityKey, EntityKey, str], None] = {}
    for relation in result.get("relations") or []:
        ends = [by_name.get(link_name(relation[end])) for end in ("source", "target")]
        kind = "_".join(link_name(relation["type"]).split())[:60]
        source, target = ends
        if source and target and source != target and kind:
            relations[source, target, kind] = None
    return list(entities.values()), list(relations)

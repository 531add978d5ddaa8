from typing import Any

import pytest

from pgblend import sql
from pgblend.sql import SourceFile, render, source_files


def test_stages_come_in_order_and_callees_before_callers() -> None:
    files = source_files()
    stages = [file.stage for file in files]
    assert stages == sorted(stages)
    seen: set[str] = set()
    names = {file.name for file in files}
    for file in files:
        assert not (file.calls & names) - seen, file.name
        seen.add(file.name)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("SELECT pgblend.b(1), pgblend.c ()", {"b", "c"}),
        ("-- pgblend.b(…)\nSELECT 1", set()),
        ("COMMENT ON FUNCTION pgblend.b(text) IS 'pgblend.c()';", set()),
        ("RAISE USING HINT = 'SELECT pgblend.b()'", set()),
        ("SELECT blend.b(1), pgblend._c (), others.d()", {"b", "_c"}),
        ("SELECT * FROM blend.some_view", set()),
        ("SELECT pgblend.a()", set()),  # itself
    ],
)
def test_calls(text: str, calls: set[str]) -> None:
    assert SourceFile("10_x", "a", text).calls == calls


def test_modules_are_spliced_in() -> None:
    script = render()
    assert "#include" not in script
    assert "def fuse_lists(" in script
    spliced = sql._splice(
        "#include plpy/cut_at_word.py\n#include plpy/merge_lists.py\n"
        "import json\nimport numpy as np\nfrom time import monotonic, time\n\nfound = 1\n"
    )
    session: dict[str, object] = {}
    scopes: list[dict[str, Any]] = []
    for _ in range(2):
        scopes.append({"SD": session})
        exec(spliced, scopes[-1])
    first, second = scopes
    names = {"cut_at_word", "merge_lists", "json", "np", "monotonic", "time", "found"}
    assert names <= second.keys()
    assert second.keys() - names <= {"SD", "__builtins__"}  # what modules import is not there
    assert all(first[name] is second[name] for name in names)
    assert first["merge_lists"] is session["modules"][1]  # type: ignore[index]
    assert "define" in first


def test_a_body_without_modules_stays_as_it_is() -> None:
    assert sql._splice("import json\nreturn json.dumps(1)\n") == (
        "import json\nreturn json.dumps(1)\n"
    )

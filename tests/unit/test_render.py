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
        ("SELECT * FROM pgblend.some_view", set()),
        ("SELECT pgblend.a()", set()),  # itself
    ],
)
def test_calls(text: str, calls: set[str]) -> None:
    assert SourceFile("10_x", "a", text).calls == calls


def test_modules_are_spliced_in() -> None:
    script = render()
    assert "#include" not in script
    assert 'if "fuse_lists" not in SD:' in script
    spliced = sql._splice("AS $python$\n#include plpy/query_groups.py\nreturn 1\n$python$;")
    code = spliced.removeprefix("AS $python$\n").removesuffix("return 1\n$python$;")
    session: dict[str, object] = {}
    for _ in range(2):
        scope: dict[str, object] = {"SD": session}
        exec(code, scope)
        assert callable(scope["query_groups"])
    assert scope["query_groups"] is session["query_groups"]

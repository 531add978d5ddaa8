import hashlib
import importlib
import marshal
import re
import sys
from collections.abc import Callable

import pytest

from pgblend.plpy.base.program import Program, compiled
from pgblend.sql import SourceObject, render, source_objects
from pgblend.sql.program import program_text, with_program


def test_stages_come_in_order_and_callees_before_callers() -> None:
    objects = source_objects()
    stages = [one.stage for one in objects]
    assert stages == sorted(stages)
    seen: set[str] = set()
    names = {one.name for one in objects}
    for one in objects:
        assert not (one.calls & names) - seen, one.name
        seen.add(one.name)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("SELECT pgblend.b(1), pgblend.c ()", {"b", "c"}),
        ("-- pgblend.b(…)\nSELECT 1", set()),
        ("COMMENT ON FUNCTION pgblend.b(text) IS 'pgblend.c()';", set()),
        ("RAISE USING HINT = 'SELECT pgblend.b()'", set()),
        ("SELECT blend.b(1), pgblend._c (), others.d()", {"b", "_c"}),
        ("SELECT * FROM blend.some_view", {"some_view"}),
        ("SELECT pgblend.a()", set()),  # itself
    ],
)
def test_calls(text: str, calls: set[str]) -> None:
    assert SourceObject("10_x", "a", "a", text).calls == calls


def test_the_program_and_what_loads_it_are_put_in() -> None:
    script = render()
    digest = hashlib.sha256(program_text().encode()).hexdigest()
    assert script.count("\ndef fuse_lists(") == 1
    assert f'DIGEST = "{digest}"' in script
    assert not re.search(r"#(program|digest)\b", script)


def test_a_body_has_one_search_path() -> None:
    heads = re.findall(r"\nLANGUAGE pl\w+\n(.*?)\nAS \$", render(), re.DOTALL)
    assert len(heads) > 100
    assert {head.count("SET search_path") for head in heads} == {1}


def test_a_body_without_modules_stays_as_it_is() -> None:
    text = "AS $python$\nimport json\nreturn json.dumps(1)\n$python$;\n"
    assert with_program(text, "x = 1\n") == text


PROGRAM = """\
#: demo
#: demo.room
#: demo.room.one
from demo.room.two import double
def one(): return double(1)
#: demo.room.two
COUNT = []
def double(x):
    COUNT.append(x)
    return 2 * x
"""


@pytest.fixture
def imports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setattr(sys, "modules", {**sys.modules})
    monkeypatch.setattr("pgblend.plpy.base.program.PACKAGE", "demo")


def sources(text: str) -> dict[str, str | bytes]:
    parts = f"\n{text}".split("\n#: ")[1:]
    return dict(part.partition("\n")[::2] for part in parts)


def codes(text: str) -> dict[str, str | bytes]:
    found: dict[str, str | bytes] = marshal.loads(compiled(text))
    assert all(isinstance(code, bytes) for code in found.values())
    return found


@pytest.mark.usefixtures("imports")
@pytest.mark.parametrize("of", [sources, codes])
def test_the_importer_serves_a_program_once_and_then_the_next(
    of: Callable[[str], dict[str, str | bytes]],
) -> None:
    Program(of(PROGRAM)).install()
    first = importlib.import_module("demo.room.one")
    assert first.one() == 2
    assert importlib.import_module("demo.room.two").COUNT == [1]
    assert importlib.import_module("demo").__path__ == []
    Program(of(PROGRAM.replace("2 * x", "3 * x"))).install()
    assert importlib.import_module("demo.room.one").one() == 3
    assert first.one() == 2  # a call under way keeps what it has
    assert [type(finder).__name__ for finder in sys.meta_path].count("Program") == 1


@pytest.mark.usefixtures("imports")
def test_the_importer_leaves_other_modules_to_others() -> None:
    program = Program(sources(PROGRAM))
    program.install()
    assert program.find_spec("json") is None
    assert program.find_spec("demo.room.three") is None
    with pytest.raises(ModuleNotFoundError, match=r"demo\.room\.three"):
        importlib.import_module("demo.room.three")


ANNOTATED = """\
#: demo
class Kept:
    one: int
def same(x: 1 / 0, *more: nobody, last: nobody = 2) -> nobody: return x, last
"""


@pytest.mark.usefixtures("imports")
def test_annotations_of_functions_cost_a_session_nothing() -> None:
    """Those of classes make dataclasses and named tuples."""
    Program(codes(ANNOTATED)).install()
    demo = importlib.import_module("demo")
    assert demo.same(1) == (1, 2)
    assert demo.same.__annotations__ == {}
    assert demo.Kept.__annotations__ == {"one": int}


@pytest.mark.usefixtures("imports")
def test_an_error_names_its_module() -> None:
    Program(codes("#: demo\n1 / 0\n")).install()
    with pytest.raises(ZeroDivisionError) as failed:
        importlib.import_module("demo")
    assert failed.traceback[-1].path == "<demo>"

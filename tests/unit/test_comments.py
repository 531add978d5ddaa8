"""COMMENTs are made from the comment that heads a file."""

import pytest

from pgblend.sql.comments import comments

HEAD = "-- {0}: what's found, best first; NULL for\n-- none. Ties go by id.\n"
CREATE = "CREATE OR REPLACE FUNCTION {1}.{0}(a text DEFAULT NULL)\nRETURNS text\n"


@pytest.mark.parametrize(
    ("name", "schema", "said"),
    [
        ("_f", "pgblend", "What''s found, best first; NULL for none."),
        ("f", "blend", "What''s found, best first; NULL for none. Ties go by id."),
    ],
)
def test_a_private_object_is_told_in_one_sentence(name: str, schema: str, said: str) -> None:
    made = comments(name, (HEAD + CREATE).format(name, schema))
    assert made == f"COMMENT ON FUNCTION {schema}.{name} IS '{said}';\n"


def test_routines_of_one_name_are_told_apart() -> None:
    text = "-- f: it.\n" + "".join(
        f"CREATE OR REPLACE FUNCTION blend.f({arguments})\nRETURNS text\n"
        for arguments in ("a bigint", "b text, c text")
    )
    assert comments("f", text).splitlines() == [
        "COMMENT ON FUNCTION blend.f(a bigint) IS 'It.';",
        "COMMENT ON FUNCTION blend.f(b text, c text) IS 'It.';",
    ]


def test_a_view_has_one_too() -> None:
    text = "-- v: it.\nCREATE OR REPLACE VIEW blend.v WITH (security_invoker = true) AS\n"
    assert comments("v", text) == "COMMENT ON VIEW blend.v IS 'It.';\n"


VIEW = """-- v: it.
CREATE OR REPLACE VIEW blend.v AS
WITH w AS (
    SELECT 1 AS x  -- no column of the view
    ORDER BY w.y  -- nor this
)

SELECT
    w.a,  -- What's first.
    -- Whether any,
    -- or none.
    (
        SELECT w.q
    ) AS b,
    w.untold,
    CASE
        WHEN w.c THEN 1
    END AS c  -- Third.
FROM w;
"""


def test_columns_of_a_view_are_told_behind_or_above_them() -> None:
    assert comments("v", VIEW).splitlines()[1:] == [
        "COMMENT ON COLUMN blend.v.a IS 'What''s first.';",
        "COMMENT ON COLUMN blend.v.b IS 'Whether any, or none.';",
        "COMMENT ON COLUMN blend.v.c IS 'Third.';",
    ]

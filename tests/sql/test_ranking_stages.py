"""The ranking stages as users call them: exact rows, and errors that name the value."""

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from support.database import Database

FOX = "The quick brown fox jumps over the lazy dog."
FOX_AGAIN = "the quick brown fox jumps over the lazy dog, today"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("normalize_scores('{2,4,NULL,3}')", [0.0, 1.0, None, 0.5]),
        ("normalize_scores('{7}')", [1.0]),
        ("normalize_scores('{7,7}')", [1.0, 1.0]),
        ("normalize_scores('{7,7}', 'zscore')", [0.0, 0.0]),
        ("normalize_scores('{7,7}', 'zscore', '{\"clamp\": 3}')", [0.5, 0.5]),
        ("normalize_scores('{7,7}', 'logistic')", [0.5, 0.5]),
        ("normalize_scores('{1,3}', 'zscore')", [-1.0, 1.0]),
        ("normalize_scores('{1,3}', 'zscore', '{\"clamp\": 1}')", [0.0, 1.0]),
        ("normalize_scores('{4.5}', 'logistic', '{\"center\": 4.5, \"scale\": 2.8}')", [0.5]),
        ("normalize_scores('{-2,5,12}', 'minmax', '{\"low\": 0, \"high\": 10}')", [0, 0.5, 1]),
        ("normalize_scores('{5,5}', 'minmax', '{\"low\": 5, \"high\": 5}')", [1.0, 1.0]),
        ("normalize_scores('{1,1.5,2}', 'minmax', '{\"epsilon\": 2}')", [1.0, 1.0, 1.0]),
        ("normalize_scores('{1}', 'minmax', '{\"low\": null}')", [1.0]),
        ("normalize_scores('{1e100,-1e100}')", [1.0, 0.0]),
        ("normalize_scores('{1e100,-1e100}', 'logistic', '{\"scale\": 1}')", [1.0, 0.0]),
        ("normalize_scores('{NULL,NULL}')", [None, None]),
        ("normalize_scores('{}')", []),
        ("normalize_scores(NULL)", None),
        ("normalize_scores('{1}', 'minmax', NULL)", [1.0]),
        ("convex_fusion('{1,0.5}', '{0.3,0.7}')", 0.65),
        ("convex_fusion('{1,NULL}')", 0.5),
        ("convex_fusion('{NULL,NULL}')", 0.0),
        ("convex_fusion('{1,1}', '{0,0}')", 0.0),
        ("convex_fusion('{}')", 0.0),
        ("convex_fusion(NULL)", 0.0),
        ("convex_fusion('{1e-300}', '{1e-100}')", 0.0),  # too small for a number, and no error
        ('rank_bonus(\'{5,5}\', \'{"kind":"both_top","depth":5,"amount":0.1}\')', 0.1),
        ('rank_bonus(\'{5,6}\', \'{"kind":"both_top","depth":5,"amount":0.1}\')', 0.0),
        ('rank_bonus(\'{1,NULL}\', \'{"kind":"both_top","depth":5,"amount":0.1}\')', 0.0),
        ('rank_bonus(\'{9,1,5}\', \'{"kind":"both_top","depth":5,"amount":0.1}\')', 0.1),
        ("rank_bonus('{1}', '{\"kind\":\"none\"}')", 0.0),
        ("rank_bonus('{1}', NULL)", 0.0),
        ("rank_bonus('{NULL}', '{\"kind\":\"none\"}')", 0.0),
        ('rank_bonus(NULL, \'{"kind":"none"}\')', 0.0),
        ("blend_scores(0.5, NULL, 1)", 0.5),
        ("blend_scores(NULL, 0.5, 1)", None),
        ("graph_score(0.8, 1)", 0.8 + 0.5),
        ("graph_score(0.7, NULL)", 0.7),
        ("graph_score(NULL, 2)", 1 / 3),
        ("graph_score(NULL, 0)", 1.0),
        ("graph_score(NULL, NULL)", 0.0),
    ],
)
def test_values(db: Database, call: str, expected: Any) -> None:
    found = db.value(f"SELECT {call}")
    assert found == (
        pytest.approx(expected, rel=1e-15) if isinstance(expected, float) else expected
    )


@pytest.mark.parametrize(
    ("call", "part"),
    [
        ("normalize_scores('{1}', 'rank')", "method is 'rank': expected minmax"),
        ("normalize_scores('{1}', NULL)", "method is NULL"),
        ("normalize_scores('{1}', 'minmax', '[]')", "expected a JSON object"),
        ("normalize_scores('{1}', 'minmax', '{\"center\": 1}')", '"center" is 1'),
        ("normalize_scores('{1}', 'zscore', '{\"clamp\": 0}')", '"clamp" is 0'),
        ("normalize_scores('{1}', 'logistic', '{\"scale\": \"1\"}')", '"scale" is "1"'),
        ("normalize_scores('{1}', 'minmax', '{\"low\": 1e101}')", '"low" is 1'),
        ("normalize_scores('{1}', 'minmax', '{\"low\": 2, \"high\": 1}')", '"low" is 2'),
        ("normalize_scores('{1,NaN}')", "a score is NaN"),
        ("normalize_scores('{-Infinity}')", "a score is -Infinity"),
        ("convex_fusion('{1}', '{1,2}')", "there are 1 scores and 2 weights"),
        ("convex_fusion(NULL, '{1}')", "there are 0 scores and 1 weights"),
        ("convex_fusion('{1}', '{-1}')", "score 1 has weight -1"),
        ("convex_fusion('{1}', '{NULL}')", "weight NULL"),
        ("convex_fusion('{NaN}')", "score NaN has weight 1"),
        ("rank_bonus('{0}', '{\"kind\":\"none\"}')", "ranks are {0}: ranks start at 1"),
        ("rank_bonus('{1}', '{\"kind\":\"both\"}')", "expected an object with"),
        ('rank_bonus(\'{1}\', \'{"kind":"tiers","tiers":[]}\')', "at least one object"),
        ("rank_bonus('{1}', '{\"kind\":\"none\"}', -1)", "attainable is -1"),
        ("blend_scores(1, 1, 0)", "rank is 0"),
        ("blend_scores(1, 1, NULL)", "rank is NULL"),
        ("blend_scores(1, 1, 3, NULL, 2)", "rank is 3: expected a number from 1 to candidates"),
        ("blend_scores('NaN', 1, 1)", "scores are NaN and 1"),
        ('blend_scores(1, 1, 1, \'{"kind":"sum"}\')', "blend is"),
        (
            """blend_scores(1, 1, 1, '{"kind":"position","fused":1,"rerank":1,"position":1}')""",
            "candidates is NULL",
        ),
        ("drop_duplicates('{a}', overlap => 0)", "overlap is 0"),
        ("drop_duplicates('{a}', similarity => 1.1)", "similarity 1.1"),
        ("drop_duplicates('{a}', similarity => NULL)", "similarity NULL"),
        ("drop_duplicates('{a}', '{1}', per_document => 0)", "per_document is 0"),
        ("drop_duplicates('{a,b}', '{1}')", "the arrays have {2,1} items"),
        ("drop_duplicates('{a}', per_document => 1)", "document_ids is NULL"),
        ("drop_duplicates(NULL, '{1}', '{1}')", "expected both or none"),
        ("mmr_select('{1}', NULL, -0.1)", "lambda is -0.1"),
        ("mmr_select('{1}', NULL, 'NaN')", "lambda is NaN"),
        ("mmr_select('{1}', NULL, 0.7, 0)", "pool is 0"),
        ("mmr_select('{1}', NULL, 0.7, 50, -1)", "result_limit is -1"),
        ("mmr_select('{1,2}', ARRAY['[1]'::vector])", "there are 2 scores and 1 embeddings"),
        ("mmr_select('{1,NULL}', NULL)", "a score is NULL"),
        ("mmr_select('{1,1}', ARRAY['[1]','[1,2]']::vector[])", "embeddings have {1,2} dimensions"),
        ("graph_score(0.5, -1)", "depth is -1"),
        ("graph_score(1.5, 1)", "cosine is 1.5"),
        ("graph_score('NaN', 1)", "cosine is NaN"),
    ],
)
def test_wrong_arguments(db: Database, call: str, part: str) -> None:
    error = db.error(f"SELECT {call}")
    assert error.sqlstate == "22023"
    assert part in str(error.message_primary)
    assert error.message_hint


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("NULL", []),
        ("'{}'", []),
        ("'{a}'", [(1, None, None, None)]),
        (
            "'{a,b,a,NULL,NULL}'",
            [(1, None, None, None), (2, None, None, None), (3, 1, "content", None),
             (4, None, None, None), (5, None, None, None)],
        ),
        (  # touching is not overlapping; another document's spans are none of ours
            "NULL, '{1,1,1,2,NULL}', '{0,10,5,0,0}', '{10,20,15,10,10}'",
            [(1, None, None, None), (2, None, None, None), (3, 1, "overlap", 0.5),
             (4, None, None, None), (5, None, None, None)],
        ),
        (  # the shorter span counts: a part of a kept one repeats it
            "NULL, '{1,1,1}', '{0,20,NULL}', '{100,30,30}'",
            [(1, None, None, None), (2, 1, "overlap", 1.0), (3, None, None, None)],
        ),
        (
            "NULL, '{1,1}', '{0,8}', '{10,18}', overlap => 0.2",
            [(1, None, None, None), (2, 1, "overlap", 0.2)],
        ),
        (
            f"contents => ARRAY['{FOX}', 'x y z', '{FOX_AGAIN}'], similarity => 0.7",
            [(1, None, None, None), (2, None, None, None), (3, 1, "similar", 7 / 8)],
        ),
        (f"contents => ARRAY['{FOX}', '{FOX_AGAIN}'], similarity => 0.9",
         [(1, None, None, None), (2, None, None, None)]),
        (
            "NULL, '{1,2,1,1,NULL,NULL}', per_document => 2",
            [(1, None, None, None), (2, None, None, None), (3, None, None, None),
             (4, 1, "per_document", None), (5, None, None, None), (6, None, None, None)],
        ),
        (  # the second is dropped, so the third is no third of its document
            "'{a,a,b}', '{1,1,1}', per_document => 2",
            [(1, None, None, None), (2, 1, "content", None), (3, None, None, None)],
        ),
    ],
)  # fmt: skip
def test_drop_duplicates(db: Database, arguments: str, expected: Any) -> None:
    assert db.rows(f"SELECT * FROM drop_duplicates({arguments})") == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("NULL, NULL", []),
        ("'{}', '{}'", []),
        ("'{1}', NULL", [(1, 1)]),
        ("'{1}', NULL, result_limit => 0", []),
        ("'{0.2,0.9,0.9}', NULL", [(2, 1), (3, 2), (1, 3)]),  # ties in the order given
        ("'{0.9,0.8,0.7}', ARRAY['[1,0]','[1,0]','[0,1]']::vector[]", [(1, 1), (3, 2), (2, 3)]),
        ("'{0.9,0.8,0.7}', ARRAY['[1,0]','[1,0]',NULL]::vector[]", [(1, 1), (3, 2), (2, 3)]),
        ("'{0.9,0.8,0.7}', ARRAY['[1,0]','[1,0]','[0,0]']::vector[]", [(1, 1), (3, 2), (2, 3)]),
        ("'{0.9,0.8,0.7}', ARRAY['[1,0]','[1,0]','[0,1]']::vector[], 1",
         [(1, 1), (2, 2), (3, 3)]),
        ("'{0.9,0.8,0.7}', ARRAY['[1,0]','[1,0]','[0,1]']::vector[], pool => 2",
         [(1, 1), (2, 2), (3, 3)]),
        ("'{0.9,0.8,0.7}', ARRAY['[1,0]','[1,0]','[0,1]']::vector[], result_limit => 2",
         [(1, 1), (3, 2)]),
        ("'{0.5,0.5}', ARRAY['[1,0]','[-1,0]']::vector[], 0", [(1, 1), (2, 2)]),
    ],
)  # fmt: skip
def test_mmr_select(db: Database, arguments: str, expected: Any) -> None:
    assert db.rows(f"SELECT place, rank FROM mmr_select({arguments})") == expected


def test_mmr_gives_its_objective(db: Database) -> None:
    query = "SELECT * FROM mmr_select('{0.9,0.8}', ARRAY['[1,0]','[3,4]']::vector[])"
    assert db.rows(query) == [
        (1, 1, pytest.approx(0.63), None),
        (2, 2, pytest.approx(0.7 * 0.8 - 0.3 * 0.6), pytest.approx(0.6)),
    ]


def test_ten_thousand_rows(db: Database) -> None:
    scores = "(SELECT array_agg(1.0 / i ORDER BY i) FROM generate_series(1, 10000) AS i)::float8[]"
    rows = db.rows(f"SELECT place, rank FROM mmr_select({scores}, NULL)")
    assert rows == [(i, i) for i in range(1, 10_001)]
    hashes = "(SELECT array_agg((i % 5000)::text ORDER BY i) FROM generate_series(1, 10000) AS i)"
    query = f"SELECT count(*) FROM drop_duplicates({hashes}) WHERE duplicate_of IS NULL"
    assert db.value(query) == 5000


def test_a_whole_fusion_in_one_select(db: Database) -> None:
    query = """
        SELECT id, rrf(ARRAY[a, b], ARRAY[2, 1]) + rank_bonus(ARRAY[a, b], %s) AS score
        FROM (VALUES (1, 1, NULL), (2, 2, 1), (3, NULL, 2)) AS arms(id, a, b)
        ORDER BY score DESC, id"""
    bonus = Jsonb({"kind": "both_top", "depth": 5, "amount": 0.1})
    assert db.rows(query, bonus) == [
        (2, pytest.approx(2 / 62 + 1 / 61 + 0.1)),
        (1, pytest.approx(2 / 61)),
        (3, pytest.approx(1 / 62)),
    ]

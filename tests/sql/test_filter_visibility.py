"""Filters by metadata under row security: an index serves a reader, who sees nothing hidden."""

import json
from typing import Any

VIEW = "SELECT document_id FROM pgblend._document_containing"
PARAMETER = "SELECT set_config('pgblend.filter_alternatives', %s, %s)"
SECRET = (
    "UPDATE pgblend_data.document AS d SET metadata = '{\"secret\": true}'"
    " FROM pgblend_data.collection AS c WHERE c.id = d.collection_id AND c.name = 'secret'"
)


def alternatives(*objects: dict[str, Any]) -> str:
    quoted = (json.dumps(json.dumps(one)) for one in objects)
    return f"{{{','.join(quoted)}}}"


def test_the_view_shows_what_the_reader_may_see(two_collections: Any) -> None:
    admin, role = two_collections.admin, two_collections.reader_role
    with admin.connection.transaction(force_rollback=True):
        admin.rows(SECRET)
        admin.rows(PARAMETER, alternatives({}), True)
        assert len(admin.rows(VIEW)) == 6
        admin.rows(PARAMETER, alternatives({"secret": True}), True)
        assert len(admin.rows(VIEW)) == 3
        admin.rows(f"SET LOCAL ROLE {role}")
        assert admin.rows(VIEW) == []
        admin.rows(PARAMETER, alternatives({"secret": True}, {}), True)
        assert len(admin.rows(VIEW)) == 3
        admin.rows(PARAMETER, "{}", True)
        assert admin.rows(VIEW) == []


def test_without_the_parameter_there_is_nothing(two_collections: Any) -> None:
    assert two_collections.reader.rows(VIEW) == []
    two_collections.reader.rows("SELECT pgblend._filtered_ids('{\"a\": 1}', '{1}', 1)")
    assert two_collections.reader.rows(VIEW) == []


def test_a_readers_own_function_sees_no_hidden_document(two_collections: Any) -> None:
    """A cheap, leaky condition is not run before the barrier."""
    reader, admin = two_collections.reader, two_collections.admin
    admin.rows(f"GRANT CREATE ON SCHEMA public TO {reader.connection.info.user}")
    reader.rows(
        "CREATE FUNCTION public.leak(id bigint) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS"
        " $$ BEGIN RAISE WARNING '%', id; RETURN true; END $$"
    )
    reader.rows(PARAMETER, alternatives({}), False)
    seen = reader.column(f"{VIEW} WHERE public.leak(document_id)")
    assert sorted(reader.warnings()) == sorted(map(str, seen))
    assert len(seen) == 3
    reader.rows(PARAMETER, "{}", False)
    reader.rows("DROP FUNCTION public.leak(bigint)")
    admin.rows(f"REVOKE CREATE ON SCHEMA public FROM {reader.connection.info.user}")


def test_the_index_serves_a_reader(two_collections: Any) -> None:
    """As it does not without the view; and the answers are those of the table."""
    admin = two_collections.admin
    with admin.connection.transaction(force_rollback=True):
        admin.rows(
            "INSERT INTO pgblend_data.document (collection_id, bucket, source_key, title,"
            " text_search_config, metadata, content_hash)"
            " SELECT c.id, 0, 'x' || n, '', 'english', jsonb_build_object('n', n), 'x'"
            " FROM pgblend_data.collection AS c, generate_series(1, 5000) AS n"
        )
        admin.rows(
            "INSERT INTO pgblend_data.chunk (document_id, chunk_index, collection_id, bucket,"
            " content, kind, own_start, token_count, metadata, text_search_config, lexemes)"
            " SELECT d.id, 0, d.collection_id, 0, 'x', 'doc', 0, 1, '{}', 'english', ''"
            " FROM pgblend_data.document AS d WHERE d.metadata ->> 'n' IN ('7', '8')"
        )
        admin.rows("ANALYZE pgblend_data.document, pgblend_data.chunk")
        admin.rows(f"SET LOCAL ROLE {two_collections.reader_role}")
        admin.rows(PARAMETER, alternatives({"n": 7}), True)
        plans = [
            "\n".join(admin.column(f"EXPLAIN {query}"))
            for query in (
                VIEW,
                "SELECT id FROM pgblend_data.document WHERE metadata @> '{\"n\": 7}'",
            )
        ]
        assert ["document_metadata_gin" in plan for plan in plans] == [True, False]
        count = "SELECT cardinality(pgblend._filtered_ids(%s, '{1,2}', 100))"
        assert admin.value(count, '{"n": 7}') == 1
        assert admin.value(count, '{"n": {"in": [7, 8, 9]}}') == 2
        assert admin.value(count, '{"n": {"lt": 9}}') == 2
        assert admin.value("SELECT current_setting('pgblend.filter_alternatives')") == alternatives(
            {"n": 7}
        )

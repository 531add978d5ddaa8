"""Lists by words without the lexical index: what literal profiles have in place of it.

They read tsvectors or contents, so they are slow: for the profile three_arm, and for small
collections. Phrases and exclusions must hold. Ties go by (document, chunk index).
"""

from pgblend.plpy.ports import CandidateList, LiteralRequest
from pgblend.plpy.search.vectors import candidates
from pgblend.plpy.session import Database

# $1 query, $2 collections, $3 filter, $4 the one language or NULL, $5 depth, $6 its words.
_LIST = """
WITH candidate AS ({candidates}
    WHERE c.collection_id = ANY($2)
        AND c.text_search_config = coalesce($4, c.text_search_config)
        AND ($3 IS NULL OR c.id IN (SELECT unnest(pgblend._filtered_ids($3, $2, NULL))))
        AND {holds}
)
SELECT
    array_agg(b.id) AS chunk_ids,
    array_agg(b.document_id) AS document_ids,
    array_agg(b.chunk_index) AS chunk_indexes,
    array_agg(b.score::double precision) AS scores,
    {perfect}::double precision AS perfect_score
FROM (
    SELECT c.* FROM candidate AS c
    WHERE c.score {passes}
    ORDER BY c.score DESC, c.document_id, c.chunk_index
    LIMIT $5
) AS b
"""
_TYPES = ["text", "bigint[]", "jsonb", "text", "integer", "text"]
# A body has all words and phrases and none of what is excluded (_websearch_query). What only lacks
# the excluded words ranks nothing. ts_rank_cd has no bound: the best candidate has a perfect score.
_COVER_DENSITY = _LIST.format(
    candidates="""
    SELECT c.id, c.document_id, c.chunk_index, ts_rank_cd(c.lexemes, a.condition) AS score
    FROM (
        SELECT l.name, pgblend._websearch_query(l.name, $1) AS condition
        FROM (
            SELECT DISTINCT i.text_search_config AS name
            FROM pgblend_data.collection_language AS i WHERE i.collection_id = ANY($2)
        ) AS l
        WHERE l.name = coalesce($4, l.name)
        OFFSET 0
    ) AS a
    INNER JOIN pgblend_data.chunk AS c ON c.text_search_config = a.name
""",
    holds="c.lexemes @@ a.condition",
    passes="> 0",
    perfect="max(b.score)",
)
_WORD_SIMILARITY = _LIST.format(
    candidates="""
    SELECT c.id, c.document_id, c.chunk_index, word_similarity($6, c.content) AS score
    FROM pgblend_data.chunk AS c
    LEFT JOIN pgblend._binding_conditions($1, $2) AS b ON b.config_name = c.text_search_config
""",
    holds="coalesce(c.lexemes @@ b.condition, true)",
    passes=">= 0.3::real",
    perfect="1",
)


def literal_list(db: Database, request: LiteralRequest) -> CandidateList:
    """Return the list of a kind, lexical or fuzzy."""
    statement = _COVER_DENSITY if request.kind == "lexical" else _WORD_SIMILARITY
    values = request.query, request.collection_ids, request.filter, request.language
    return candidates(db.run(statement, _TYPES, *values, request.depth, request.words)[0])

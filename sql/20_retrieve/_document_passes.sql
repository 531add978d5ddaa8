-- _document_passes: whether a document passes one of a query's alternatives (_document_operands):
-- some chunk has each phrase, and none has what it excludes. No operands are passed by all.
CREATE OR REPLACE FUNCTION pgblend._document_passes(
    document_id bigint,
    alternatives bigint[],
    operands tsquery[],
    excluded boolean[]
)
RETURNS boolean
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(cardinality(operands) = 0, true) OR EXISTS (
        SELECT
        FROM unnest(alternatives, operands, _document_passes.excluded)
            AS o (alternative, operand, excluded)
        GROUP BY o.alternative
        HAVING bool_and(o.excluded <> EXISTS (
            SELECT FROM pgblend_data.chunk AS c
            WHERE c.document_id = _document_passes.document_id AND c.lexemes @@ o.operand
        ))
    );
END;

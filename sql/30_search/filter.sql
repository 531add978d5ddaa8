-- _search_filter: the filter that a search applies: the caller's, checked, joined with the rest
-- (_joined_filter).
CREATE OR REPLACE FUNCTION pgblend._search_filter(
    filter jsonb,
    settings jsonb,
    collection_ids bigint[] DEFAULT '{}'
)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    joined jsonb := pgblend._joined_filter(filter, settings, collection_ids);
    compiled record;
BEGIN
    IF filter IS NOT NULL THEN
        SELECT f.problem, f.hint INTO compiled FROM pgblend._filter_condition(filter, 1) AS f;
        IF compiled.problem IS NOT NULL THEN
            RAISE EXCEPTION '%', compiled.problem
                USING ERRCODE = '22023', HINT = compiled.hint;
        END IF;
    END IF;
    RETURN joined;
END;
$function$;

-- _joined_filter: the filter that a search applies: the caller's, which is checked elsewhere but
-- for its size, with the settings since and until.
-- Those are conditions on the filter field $date, both ends included. A collection with tenants has
-- its condition as well (_tenant_conditions). NULL where there is nothing to apply.
CREATE OR REPLACE FUNCTION pgblend._joined_filter(
    filter jsonb,
    settings jsonb,
    collection_ids bigint[]
)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    dates jsonb := jsonb_strip_nulls(
        jsonb_build_object('gte', settings -> 'since', 'lte', settings -> 'until'));
    conditions jsonb := pgblend._tenant_conditions(settings, collection_ids);
BEGIN
    IF filter IS NOT NULL THEN
        PERFORM pgblend._check_size(
            'filter', octet_length(filter::text), 'bytes', 'filter_bytes');
    END IF;
    IF dates <> '{}' THEN
        conditions := conditions || jsonb_build_object('$date', dates);
    END IF;
    IF conditions = '[]' THEN
        RETURN filter;
    END IF;
    RETURN jsonb_build_object('and', conditions || coalesce(filter, '{}'));
END;
$function$;

-- _tenant_conditions: what filters the collections whose attached table has a tenant_column, as an
-- array of filters: rows of the tenant alone, or none where no tenant is set, with a WARNING.
-- The tenant is that of the settings, else that of the session. It is compared as a text and, where
-- it is one, as a number or a boolean; a uuid also in small letters.
CREATE OR REPLACE FUNCTION pgblend._tenant_conditions(settings jsonb, collection_ids bigint[])
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    tenant text := coalesce(
        settings ->> 'tenant', nullif(current_setting('pgblend.tenant', true), ''));
    same jsonb := jsonb_build_array(tenant) || CASE
        WHEN tenant ~ E'^-?\\d{1,100}(\\.\\d{1,100})?$' THEN jsonb_build_array(tenant::numeric)
        WHEN tenant IN ('true', 'false') THEN jsonb_build_array(tenant::boolean)
        WHEN tenant ~* E'^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
            THEN jsonb_build_array(lower(tenant))
        ELSE '[]' END;
    found record;
    passing jsonb;
    conditions jsonb := '[]';
BEGIN
    FOR found IN
        SELECT c.name, a.tenant_column
        FROM pgblend_data.attached_table AS a
        INNER JOIN pgblend_data.collection AS c ON a.collection_id = c.id
        WHERE c.id = ANY(collection_ids) AND a.tenant_column IS NOT NULL
        ORDER BY c.id
    LOOP
        passing := jsonb_build_array(
            jsonb_build_object('$collection', jsonb_build_object('ne', found.name)));
        IF tenant IS NULL THEN
            RAISE WARNING 'no tenant is set: nothing of the collection "%" is found', found.name
                USING HINT = 'Pass options => {"tenant": "…"}, or SET pgblend.tenant = ''…''.';
        ELSE
            passing := passing || jsonb_build_object(
                '$metadata.' || found.tenant_column, jsonb_build_object('in', same));
        END IF;
        conditions := conditions || jsonb_build_object('or', passing);
    END LOOP;
    RETURN conditions;
END;
$function$;

-- _filtered_ids: the chunks of collections that pass a filter, or the documents (_passing_ids).
-- A NULL filter lets all pass.
CREATE OR REPLACE FUNCTION pgblend._filtered_ids(
    filter jsonb,
    collection_ids bigint[],
    most integer,
    of_documents boolean DEFAULT false
)
RETURNS bigint[]
LANGUAGE sql
STABLE PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT pgblend._passing_ids(
        f.on_chunk, f.on_document, f.operands, f.keys, f.alternatives, f.singles,
        collection_ids, most, of_documents
    )
    FROM pgblend._filter_condition(coalesce(filter, '{}'), 2) AS f;
END;

-- _passing_ids: the chunks of collections that pass a condition, or the documents, in no order;
-- NULL where more than `most` do.
-- The condition is that of _filter_condition with parameter 2; it runs with the caller's rights.
-- Documents are asked for where they decide (_documents_decide). A NULL `most` asks for all. Where
-- a sample of documents says that more pass, none are looked for: so NULL may stand for somewhat
-- fewer. Where the filter asks for values that metadata contain, GIN indexes find them. Otherwise
-- documents are looked at once each, for the chunks that have none of the filter's keys themselves,
-- and then the chunks that do. Where documents decide, as is usual, an index alone tells their
-- chunks. Under row security a view (_document_containing) uses the index. The SET
-- clause puts the caller's value back.
CREATE OR REPLACE FUNCTION pgblend._passing_ids(
    on_chunk text,
    on_document text,
    operands text[],
    keys text[],
    alternatives jsonb[],
    singles jsonb[],
    collection_ids bigint[],
    most integer,
    of_documents boolean
)
RETURNS bigint[]
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET "pgblend.filter_alternatives" = '{}'
AS $function$
DECLARE
    by_document text := CASE WHEN of_documents THEN 'SELECT d.id FROM pgblend_data.document AS d'
        ELSE 'SELECT c.id FROM pgblend_data.document AS d
        INNER JOIN pgblend_data.chunk AS c ON c.document_id = d.id' END
        || ' WHERE d.collection_id = ANY($1) AND ';
    by_chunk text := 'SELECT c.id FROM pgblend_data.chunk AS c
        INNER JOIN pgblend_data.document AS d ON d.id = c.document_id
        WHERE c.collection_id = ANY($1) AND c.metadata <> ''{}'' AND ';
    contains text := 'd.metadata @> ANY($4) AND ';
    statement text;
    passing bigint[];
BEGIN
    IF NOT of_documents AND most < pgblend._filter_estimate(on_document, operands, collection_ids)
    THEN
        RETURN NULL;
    END IF;
    IF row_security_active('pgblend_data.document') THEN
        PERFORM set_config('pgblend.filter_alternatives', alternatives::text, true);
        contains := 'd.id IN (SELECT m.document_id FROM pgblend._document_containing AS m) AND ';
    END IF;
    IF of_documents OR keys = '{}'
        OR pgblend._documents_decide(on_document, keys, collection_ids)
    THEN
        statement := concat(
            by_document, CASE WHEN alternatives IS NOT NULL THEN contains END, on_document);
    ELSIF alternatives IS NULL THEN
        statement := concat(
            by_document, '(c.metadata ?| $3) IS NOT TRUE AND ', on_document,
            ' UNION ALL ', by_chunk, 'c.metadata ?| $3 AND ', on_chunk);
    ELSE
        statement := concat(
            by_document, contains, '(c.metadata @> ANY($5)) IS NOT TRUE AND ', on_chunk,
            ' UNION ALL ', by_chunk, 'c.metadata @> ANY($5) AND ', on_chunk);
    END IF;
    -- Calls in text: _iso_timestamp (a filter's conditions).
    EXECUTE format(
        'SELECT coalesce(array_agg(p.id), ''{}'') FROM (%s LIMIT $6) AS p', statement)
    INTO passing
    USING collection_ids, operands, keys, alternatives, singles, most::bigint + 1;
    RETURN CASE WHEN most IS NULL OR cardinality(passing) <= most THEN passing END;
END;
$function$;

-- _documents_decide: whether a filter can be checked on documents alone, without their chunks.
-- on_document and keys are those of _filter_condition. They decide where the condition does not
-- look at chunks. Either it looks at no metadata, or no chunk of the collections has any of its
-- own.
CREATE OR REPLACE FUNCTION pgblend._documents_decide(
    on_document text,
    keys text[],
    collection_ids bigint[]
)
RETURNS boolean
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN on_document !~ E'\\mc\\.' AND (
    keys = '{}' OR NOT EXISTS (
        SELECT FROM pgblend_data.chunk AS c
        WHERE c.collection_id = ANY(collection_ids) AND c.metadata <> '{}'
    )
);

-- _document_containing: the caller's documents whose metadata contain one of the JSON objects in
-- the session's parameter pgblend.filter_alternatives, a jsonb[].
-- It reads document as its owner and asks itself which collections the caller may read. Operator
-- @> is not leakproof: row security would keep it from the GIN index. A security barrier: no
-- condition of the caller's sees a row before. The parameter is no secret and grants nothing.
CREATE OR REPLACE VIEW pgblend._document_containing WITH (security_barrier = true) AS
SELECT
    d.id AS document_id,  -- The document.
    d.collection_id  -- Its collection.
FROM pgblend_data.document AS d
WHERE
    d.metadata @> ANY(nullif(current_setting('pgblend.filter_alternatives', true), '')::jsonb[])
    AND (
        (SELECT pg_has_role('pgblend_admin', 'USAGE'))
        OR d.collection_id IN (SELECT r.collection_id FROM pgblend_data.readable_collection AS r)
    );

-- _filter_estimate: about how many chunks of collections pass a filter, from a sample of
-- documents. The condition is that of _filter_condition on the document, with parameter 2. NULL
-- where the tables are small or were never analyzed, and where the condition looks at chunks too.
-- NULL as well where fewer than ten documents of the sample pass: the figure says little then. The
-- same tables give the same sample.
CREATE OR REPLACE FUNCTION pgblend._filter_estimate(
    on_document text,
    operands text[],
    collection_ids bigint[]
)
RETURNS double precision
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    documents real;
    pages integer;
    chunks real;
    percent double precision;
    passing bigint;
BEGIN
    SELECT d.reltuples, d.relpages, c.reltuples INTO documents, pages, chunks
    FROM pg_catalog.pg_class AS d, pg_catalog.pg_class AS c
    WHERE d.oid = 'pgblend_data.document'::regclass AND c.oid = 'pgblend_data.chunk'::regclass;
    IF documents < 5000 OR on_document ~ E'\\mc\\.' THEN
        RETURN NULL;
    END IF;
    percent := least(100, 100 * greatest(500 / documents, 20.0 / pages));
    -- Calls in text: _iso_timestamp (a filter's conditions).
    EXECUTE format(
        'SELECT count(*) FROM pgblend_data.document AS d TABLESAMPLE SYSTEM ($3) REPEATABLE (0)
        WHERE d.collection_id = ANY($1) AND %s', on_document)
    INTO passing USING collection_ids, operands, percent;
    RETURN CASE WHEN passing >= 10 THEN passing * (100 / percent) * (chunks / documents) END;
END;
$function$;

-- _filter_candidates: those of some chunks that pass a filter, in the order given.
-- A NULL filter lets all pass; chunks that are not there, or not visible, do not.
CREATE OR REPLACE FUNCTION pgblend._filter_candidates(chunk_ids bigint[], filter jsonb)
RETURNS bigint[]
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    compiled record;
    passing bigint[];
BEGIN
    SELECT f.* INTO compiled FROM pgblend._filter_condition(filter, 2) AS f;
    -- Calls in text: _iso_timestamp (a filter's conditions).
    EXECUTE format(
        'SELECT coalesce(array_agg(c.id ORDER BY u.place), ''{}'')
        FROM unnest($1) WITH ORDINALITY AS u (chunk_id, place)
        INNER JOIN pgblend_data.chunk AS c ON c.id = u.chunk_id
        INNER JOIN pgblend_data.document AS d ON d.id = c.document_id
        WHERE %s', coalesce(compiled.on_chunk, 'true'))
    INTO passing USING chunk_ids, compiled.operands;
    RETURN passing;
END;
$function$;

-- _filter_condition: a filter as SQL conditions on document d and chunk c, and what else is known
-- of it.
-- Nothing of the filter is in the conditions. They refer to `operands`, which the statement gets
-- as its parameter of that number, of type text[]. They are true where the filter holds, else
-- false or NULL. on_chunk looks at the chunk's metadata over the document's, on_document at the
-- document's alone. Both say the same of chunks that have none of the `keys`. What passes contains
-- (@>) one of the alternatives in its document's metadata or one of the singles in its chunk's.
-- Both are NULL where the filter is not of that kind. A wrong filter, or one beyond the setting
-- limits, has a `problem` and a hint, and no conditions; a NULL one has nothing.
CREATE OR REPLACE FUNCTION pgblend._filter_condition(
    filter jsonb,
    parameter integer,
    OUT on_chunk text,
    OUT on_document text,
    OUT operands text[],
    OUT keys text[],
    OUT alternatives jsonb[],
    OUT singles jsonb[],
    OUT problem text,
    OUT hint text
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
AS $python$
import json
from pgblend.plpy.lexical.filter import compile_filter, filter_alternatives
from pgblend.plpy.base.filters import parse_filter

def most(limit):
    return json.loads(db.run("SELECT blend.get_setting('limits') AS l", [])[0]["l"])[limit]

try:
    tree = parse_filter(filter, most)
except ValueError as error:
    return None, None, None, None, None, None, *error.args
on_chunk, operands = compile_filter(tree, parameter, False)
on_document, _ = compile_filter(tree, parameter, True)
return on_chunk, on_document, operands, *filter_alternatives(tree), None, None
$python$;

-- _filter_condition: a filter as SQL conditions on document d and chunk c, and what else is known
-- of it.
-- Nothing of the filter is in the conditions: they refer to `operands`, which the statement gets as
-- its parameter of that number, of type text[]. They are true where the filter holds, else false or
-- NULL. on_chunk looks at the chunk's metadata over the document's, on_document at the document's
-- alone: the same for chunks that have none of the `keys`. What passes contains (@>) one of the
-- alternatives in its document's metadata or one of the singles in its chunk's; both are NULL where
-- the filter is not of that kind. A wrong filter has a `problem` and a hint, and no conditions; a
-- NULL one has nothing.
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
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.filter.alternatives import filter_alternatives
from pgblend.plpy.filter.compile import compile_filter
from pgblend.plpy.filter.parse import parse_filter

try:
    tree = parse_filter(filter)
except ValueError as error:
    return None, None, None, None, None, None, *error.args
on_chunk, operands = compile_filter(tree, parameter, False)
on_document, _ = compile_filter(tree, parameter, True)
return on_chunk, on_document, operands, *filter_alternatives(tree), None, None
$python$;

COMMENT ON FUNCTION pgblend._filter_condition(jsonb, integer) IS
'A filter as SQL conditions on document d and chunk c that refer to a parameter, with the operands '
'of that parameter, the metadata keys looked at and what GIN indexes can look for.';

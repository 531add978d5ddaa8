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
from pgblend.plpy.search.filter import compile_filter, filter_alternatives
from pgblend.plpy.base.filters import parse_filter

def most(limit):
    return json.loads(plpy.execute("SELECT blend.get_setting('limits') AS l")[0]["l"])[limit]

try:
    tree = parse_filter(filter, most)
except ValueError as error:
    return None, None, None, None, None, None, *error.args
on_chunk, operands = compile_filter(tree, parameter, False)
on_document, _ = compile_filter(tree, parameter, True)
return on_chunk, on_document, operands, *filter_alternatives(tree), None, None
$python$;

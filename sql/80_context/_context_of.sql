-- _context_of: a context made of the rows of a search: parts, statistics, and the text for a model.
-- What it holds is described in plpy/answers/render.py. A search without rows gives no parts.
-- `questions` are the sub-questions that the query was split into, NULL or empty where it was not.
CREATE OR REPLACE FUNCTION pgblend._context_of(
    query text,
    passages blend.search_result[],
    settings jsonb,
    output_format text,
    questions jsonb DEFAULT NULL
)
RETURNS jsonb
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.answers.render import context_document

AROUND = "SELECT pgblend._chunks_around($1, $2) AS chunks"
ids = [row["chunk_id"] for row in passages]
return json.dumps(db.answer(lambda _, request: context_document(request), {
    "query": query or "",
    "format": output_format,
    "settings": json.loads(settings),
    "questions": questions and json.loads(questions),
    "hits": [
        {
            **row,
            "arms": json.loads(row["arms"]),
            "answers": json.loads(row["details"]).get("answers", []),
        }
        for row in passages
    ],
    "chunks": json.loads(db.run(AROUND, ["bigint[]", "jsonb"], ids, settings)[0]["chunks"]),
}))
$python$;

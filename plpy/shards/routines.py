"""What a coordinator asks its shards for as a whole: routines and views that it has stubs for."""

from collections.abc import Mapping, Sequence

# Types of their arguments.
ROUTINES: Mapping[str, Sequence[str]] = {
    "_any_passage": (),
    "_chunks_around": ("bigint[]", "jsonb"),
    "_collection_sizes": ("bigint[]",),
    "_document_count": ("bigint",),
    "_document_facts": ("bigint",),
    "_document_holds": ("bigint", "text", "bigint[]"),
    "_document_id": ("bigint[]", "text"),
    "_document_passes": ("bigint", "jsonb"),
    "_document_words": ("bigint", "text", "text", "text[]"),
    "_documents_called": ("text",),
    "_entity_passages": ("bigint[]",),
    "_facet_values": ("bigint[]", "text[]", "jsonb", "bigint[]"),
    "_filter_count": ("jsonb", "bigint[]"),
    "_has_edges": (),
    "_known_documents": ("bigint", "bigint[]", "text[]"),
    "_metadata_counts": ("bigint[]",),
    "_neighbours": ("bigint[]", "text", "text[]", "integer"),
    "_node_facts": ("bigint[]",),
    "_node_passages": ("bigint[]", "bigint[]", "jsonb", "text", "vector", "text"),
    "_passage_document": ("bigint",),
    "_passage_rows": ("bigint[]",),
    "_sampled_chunks": ("bigint", "integer"),
    "_sampled_vectors": ("bigint[]", "integer", "text"),
    "_summary_counts": ("text",),
    "_used_languages": ("bigint[]",),
    "_waiting_vectors": ("bigint", "text"),
    "chunk_embeddings": ("bigint[]", "text"),
    "count_vectors": ("text",),
    "lexical_status": ("text",),
}
# Which argument has the collections that they are asked about: an id, or a list of them.
COLLECTIONS_AT: Mapping[str, int] = {
    **dict.fromkeys(("_collection_sizes", "_document_count", "_document_id"), 0),
    "_known_documents": 0,
    **dict.fromkeys(("_metadata_counts", "_sampled_chunks", "_sampled_vectors"), 0),
    **{"_facet_values": 3, "_filter_count": 1, "_used_languages": 0},
}
# The column that their rows are merged by; none: every shard has rows of its own.
VIEWS: Mapping[str, str | None] = {
    "chunks": None,
    "collections": "name",
    "conversations": None,
    "document_metadata": None,
    "document_rights": None,
    "documents": None,
    "edges": None,
    "embedding_dead_letters": None,
    "embedding_progress": "space",
    "embedding_spaces": "name",
    "entities": None,
    "links": None,
}

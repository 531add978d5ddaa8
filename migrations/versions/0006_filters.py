"""Indexes for filters on metadata, dates, languages and URIs."""

from alembic import op

from pgblend.migrations.replace_routines import execute_script

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

# Most chunks have no metadata of their own, so the chunks' indexes hold only those that do. Row
# security lets a reader use the b-trees and the SP-GiST one, whose operators are leakproof. A
# b-tree would refuse URIs of more than 2,700 bytes.
INDEXES = """
CREATE INDEX document_metadata_gin
ON pgblend_data.document USING gin (metadata jsonb_path_ops);
CREATE INDEX document_modified_at_btree
ON pgblend_data.document USING btree (collection_id, modified_at);
CREATE INDEX document_language_btree
ON pgblend_data.document USING btree (collection_id, text_search_config);
CREATE INDEX document_uri_spgist
ON pgblend_data.document USING spgist (uri);
CREATE INDEX chunk_document_id_btree
ON pgblend_data.chunk USING btree (document_id) INCLUDE (id);
CREATE INDEX chunk_metadata_gin
ON pgblend_data.chunk USING gin (metadata jsonb_path_ops) WHERE metadata <> '{}';
CREATE INDEX chunk_own_metadata_btree
ON pgblend_data.chunk USING btree (collection_id) WHERE metadata <> '{}';
"""

DROP_INDEXES = """
DROP INDEX
pgblend_data.chunk_own_metadata_btree, pgblend_data.chunk_metadata_gin,
pgblend_data.chunk_document_id_btree,
pgblend_data.document_uri_spgist, pgblend_data.document_language_btree,
pgblend_data.document_modified_at_btree,
pgblend_data.document_metadata_gin;
"""


def upgrade() -> None:
    execute_script(op.get_bind(), INDEXES)


def downgrade() -> None:
    execute_script(op.get_bind(), DROP_INDEXES)

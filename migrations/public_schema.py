"""The schema `blend`: what people call and look at. `pgblend` keeps what is private.

Public is what has no leading underscore.
"""

from sqlalchemy import Connection, text

from pgblend.cli.base.errors import UserError

PUBLIC = "blend"

_OWNER = text("SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'blend'")
# Whoever made it first could have made functions of our names in it as well: the owner decides.
_IS_OURS = text(
    "SELECT to_regproc('blend.hybrid_search') IS NOT NULL AND EXISTS ("
    "SELECT FROM pg_namespace AS b INNER JOIN pg_namespace AS p ON p.nspowner = b.nspowner"
    " WHERE b.nspname = 'blend' AND p.nspname = 'pgblend')"
)


def refuse_foreign(connection: Connection) -> None:
    """Raise UserError where the schema `blend` is there and holds no pgblend."""
    owner = connection.execute(_OWNER).scalar()
    if owner is not None and not connection.execute(_IS_OURS).scalar_one():
        raise UserError(
            f'the schema "{PUBLIC}" is there and not pgblend\'s: it belongs to {owner}',
            hint=f"pgblend needs that name: ALTER SCHEMA {PUBLIC} RENAME TO …, or use a database "
            "of its own",
        )

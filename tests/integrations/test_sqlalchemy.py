"""Searches as SQLAlchemy's tables."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from pgvector.sqlalchemy import Vector
from sqlalchemy import (
    ARRAY,
    MetaData,
    String,
    Text,
    cast,
    create_engine,
    func,
    literal,
    select,
    true,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from pgblend.integrations.sqlalchemy import hybrid_search, lexical_search, vector_search
from support.database import Database, add_space, embed_waiting
from support.model_provider import embed


class Base(DeclarativeBase):
    """What is mapped."""


class Article(Base):
    """A table that a collection follows."""

    __tablename__ = "articles"
    __table_args__ = {"schema": "public"}  # noqa: RUF012
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(String)
    body: Mapped[str]
    year: Mapped[int]


@pytest.fixture(scope="module")
def session(driver_url: str, module_connection: psycopg.Connection) -> Iterator[Session]:
    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(driver_url))
    db = Database(module_connection)
    add_space(db)
    Base.metadata.create_all(engine)
    with Session(engine) as opened:
        opened.add_all(
            [
                Article(id=7, title="Walrus", body="It lives on the ice.", year=1970),
                Article(id=8, title="Owl", body="It hunts at night.", year=1990),
                Article(id=9, title="Seal", body="It sleeps on the ice as well.", year=2020),
            ]
        )
        opened.commit()
        db.rows("SELECT attach_table('public.articles', '{body}', 'title', '{year}')")
        embed_waiting(db)
        yield opened
    engine.dispose()


def titles(session: Session, found: Any) -> list[str]:
    key = cast(Article.id, Text)
    query = select(Article).join(found, key == found.c.source_key).order_by(found.c.rank)
    return [article.title for article in session.scalars(query)]


def test_a_search_joins_to_a_mapped_class(session: Session) -> None:
    found = hybrid_search("ice", 5, collections=["articles"], query_embedding=embed("ice"))
    query = (
        select(Article, found.c.score, found.c.arms, found.c.metadata)
        .join(found, cast(Article.id, Text) == found.c.source_key)
        .where(Article.year < 2000, found.c.arms.has_key("lexical"))
        .order_by(found.c.rank)
    )
    ((article, score, arms, metadata),) = session.execute(query)
    assert article.title == "Walrus"
    assert 0 < score <= 1
    assert set(arms) == {"lexical", "vector"}
    assert metadata == {"year": 1970}


def test_arguments_are_named_and_need_no_casts(session: Session) -> None:
    found = hybrid_search(
        "ice", 1, filter={"year": {"gte": 2000}}, options={"mode": "fast"}, profile="balanced",
        query_embedding=embed("ice"),
    )  # fmt: skip
    assert titles(session, found) == ["Seal"]
    text = str(select(found.c.rank).compile(session.get_bind()))
    assert "blend.hybrid_search(query => " in text
    assert "collections" not in text
    owl = hybrid_search("ice", filter={"year": 1990}, query_embedding=embed("ice"))
    assert titles(session, owl) == ["Owl"]


def test_arms_alone(session: Session) -> None:
    assert titles(session, lexical_search("night")) == ["Owl"]
    vector = embed("Owl\n\nIt hunts at night.")
    assert titles(session, vector_search(result_limit=1, query_embedding=vector)) == ["Owl"]


def test_all_columns_are_typed(session: Session, module_connection: psycopg.Connection) -> None:
    found = lexical_search("night")
    (row,) = session.execute(select(found)).mappings()
    cursor = module_connection.execute("SELECT * FROM lexical_search('night')")
    assert cursor.description is not None
    names = [each.name for each in cursor.description]
    assert set(row) == set(names)
    assert {name: row[name] for name in names} == dict(
        zip(names, cursor.fetchone() or (), strict=True)
    )
    assert row["degraded"] == []


def test_a_query_may_be_a_column(session: Session) -> None:
    asked = (
        func.unnest(literal(["night", "sleeps"], ARRAY(Text)))
        .table_valued("value")
        .render_derived()
    )
    found = lexical_search(asked.c.value, 1).lateral()
    query = select(asked.c.value, found.c.title).join(found, true())
    assert session.execute(query).all() == [("night", "Owl"), ("sleeps", "Seal")]
    named = hybrid_search(Article.title, 1).lateral()
    mapped = select(named.c.title).select_from(Article).join(named, true())
    assert session.scalars(mapped.where(Article.title == "Owl")).all() == ["Owl"]


def test_reflection_knows_vectors(session: Session, module_connection: psycopg.Connection) -> None:
    module_connection.execute("CREATE TABLE public.with_vector (id integer, embedding vector(3))")
    metadata = MetaData()
    metadata.reflect(session.get_bind(), schema="public", only=["with_vector"])
    type_ = metadata.tables["public.with_vector"].c.embedding.type
    assert isinstance(type_, Vector)
    assert type_.dim == 3

"""Searches as Django's querysets, and tables attached by its migrations."""

from collections.abc import Iterator
from typing import Any

import django
import psycopg
import pytest
from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connection
from django.db.migrations.writer import MigrationWriter
from psycopg.conninfo import conninfo_to_dict

from pgblend.integrations.django import AttachTable
from support.database import Database, add_space, embed_waiting
from support.model_provider import embed

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def library(driver_url: str, module_connection: psycopg.Connection) -> Iterator[Any]:
    """The models, migrated, with vectors for all articles."""
    names = {"host": "HOST", "port": "PORT", "dbname": "NAME", "user": "USER"}
    given = {**names, "password": "PASSWORD"}
    parts = conninfo_to_dict(driver_url)
    settings.configure(
        INSTALLED_APPS=["support.library"],
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.postgresql",
                "OPTIONS": {"options": "-c search_path=public,blend"},
                **{name: parts[key] for key, name in given.items() if key in parts},
            }
        },
    )
    django.setup()
    db = Database(module_connection)
    add_space(db)
    call_command("migrate", "library", "0001", verbosity=0)
    models = apps.get_app_config("library")
    ann, bob = (models.get_model("Author").objects.create(name=name) for name in ("ann", "bob"))
    article = models.get_model("Article").objects
    article.create(id=7, title="Walrus", body="It lives on the ice.", year=1970, author=ann)
    call_command("migrate", "library", verbosity=0)
    article.create(id=8, title="Owl", body="It hunts at night.", year=1990, author=bob)
    article.create(id=9, title="Seal", body="It sleeps on the ice too.", year=2020, author=bob)
    embed_waiting(db)
    yield models
    connection.close()


@pytest.fixture
def articles(library: Any) -> Any:
    return library.get_model("Article").objects


def titles(found: Any) -> list[str]:
    return [article.title for article in found]


def test_rows_come_best_first_and_say_how_they_were_found(articles: Any) -> None:
    found = list(articles.search("ice", query_embedding=embed("ice")))
    assert titles(found)[2] == "Owl"
    assert [each.search_rank for each in found] == [1, 2, 3]
    scores = [each.search_score for each in found]
    assert scores == sorted(scores, reverse=True)
    assert set(found[0].search_arms) == {"lexical", "vector"}
    assert found[0].search_degraded == []
    assert "<mark>ice</mark>" in found[0].search_snippet
    (without,) = articles.search("night")
    assert without.search_degraded[0].startswith("vector: no model gateway is set")


def test_filters_chain(articles: Any) -> None:
    ice = articles.search("ice")
    assert set(titles(ice)) == {"Walrus", "Seal"}
    assert titles(ice.filter(year__gte=2000)) == ["Seal"]
    assert titles(ice.filter(author__name="ann")) == ["Walrus"]
    assert titles(articles.filter(author__name="bob").search("ice").exclude(year=1)) == ["Seal"]
    assert ice.count() == 2
    assert ice.filter(year=1).exists() is False
    assert len(ice[:1]) == 1
    assert ice.filter(search_rank__gt=1).count() == 1
    assert [*ice.order_by("title").values_list("title", "search_rank")][1][0] == "Walrus"
    assert {each.author.name for each in ice.select_related("author")} == {"ann", "bob"}


def test_a_search_within_a_query(articles: Any, library: Any) -> None:
    authors = library.get_model("Author").objects.filter(article__in=articles.search("night"))
    assert [author.name for author in authors] == ["bob"]
    ids = articles.search("ice").values("pk")
    assert titles(articles.search("ice").filter(pk__in=ids, year=1970)) == ["Walrus"]


def test_options_and_filters_reach_the_search(articles: Any) -> None:
    ice = embed("ice")
    found = articles.search("ice", 1, filter={"year": {"lt": 2000}}, query_embedding=ice)
    assert titles(found) == ["Walrus"]
    found = articles.search("ice", options={"mode": "fast"}, profile="balanced")
    assert set(titles(found)) == {"Walrus", "Seal"}


def test_a_key_of_two_columns_is_an_error_that_names_it(library: Any) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"Note has the key \(article_id, number\)"):
        library.get_model("Note").objects.search("ice")


def test_the_operation_is_written_down(library: Any) -> None:
    operation = AttachTable("Article", ["body"], title="title", metadata=["year"], collection="a")
    assert operation.describe() == "Search the table of Article"
    assert operation.migration_name_fragment == "search_article"
    assert operation.references_model("article", "library")
    text, _ = MigrationWriter.serialize(operation)
    assert "".join(text.split()) == (
        "pgblend.integrations.django.AttachTable(model_name='Article',text=['body'],"
        "title='title',metadata=['year'],collection='a',)"
    )


def test_backwards_the_table_is_followed_no_more(library: Any, articles: Any) -> None:
    call_command("migrate", "library", "0001", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM blend.collections")
        assert cursor.fetchone() == (0,)
    call_command("migrate", "library", verbosity=0)
    assert set(titles(articles.search("ice"))) == {"Walrus", "Seal"}

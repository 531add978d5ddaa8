"""Django: searches of attached tables as querysets, and a migration operation that attaches one.

class Article(models.Model):
    objects = SearchManager()

Article.objects.search("ice").filter(year__gte=2000)[:5]
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ImproperlyConfigured
from django.db import models
from django.db.migrations.operations.base import Operation
from django.db.models.expressions import Expression
from django.db.models.sql.constants import INNER

from pgblend.cli.documents.document import storable_text

_TABLE = "pgblend_search"
# What a queryset's rows have of the search, as search_rank and so on.
_COLUMNS: dict[str, models.Field] = {
    "rank": models.IntegerField(),
    "score": models.FloatField(),
    "relevance": models.FloatField(),
    "snippet": models.TextField(),
    "arms": models.JSONField(),
    "degraded": ArrayField(models.TextField()),
}


class SearchQuerySet(models.QuerySet):  # type: ignore[misc]
    """A queryset with `search`."""

    def search(
        self,
        query: str,
        limit: int = 100,
        *,
        collection: str | None = None,
        filter: Mapping[str, Any] | None = None,
        profile: str | None = None,
        options: Mapping[str, Any] | None = None,
        query_embedding: Sequence[float] | None = None,
    ) -> Self:
        """Return the rows that hybrid_search finds, best first, with search_rank, search_score, ….

        At most `limit` are found; what the queryset filters beside it leaves fewer. `filter`, in
        pgblend's language, goes into every arm instead. The collection has the table's name unless
        it is given.
        """
        arguments = {
            "query": storable_text(query),
            "result_limit": limit,
            "collections": [collection or self.model._meta.db_table],
            "filter": _json(filter),
            "profile": profile,
            "options": _json(options),
            "query_embedding": _json(query_embedding and list(map(float, query_embedding))),
        }
        found = self._chain()
        join = _SearchJoin(
            found.query.get_initial_alias(),
            _key_column(self.model),
            {name: value for name, value in arguments.items() if value is not None},
        )
        alias = found.query.join(join)
        columns = {
            f"search_{name}": _SearchColumn(alias, name, field) for name, field in _COLUMNS.items()
        }
        ordered: Self = found.annotate(**columns).order_by("search_rank")
        return ordered


class SearchManager(models.Manager.from_queryset(SearchQuerySet)):  # type: ignore[misc]
    """A manager with `search`, for models whose table a collection follows."""


class AttachTable(Operation):  # type: ignore[misc]
    """A migration operation: a collection follows a model's table, which is searched from then on.

    Names are those of the model's fields. The role that migrates owns the table and is a member of
    pgblend_admin. Backwards the table is followed no more.
    """

    reversible = True

    def __init__(
        self,
        model_name: str,
        text: Sequence[str],
        *,
        title: str | None = None,
        metadata: Sequence[str] = (),
        collection: str | None = None,
    ) -> None:
        self.model_name, self.text, self.title = model_name, text, title
        self.metadata, self.collection = metadata, collection

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Change nothing: models are as before."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Attach the table and fill the collection."""
        model = to_state.apps.get_model(app_label, self.model_name)
        if not self.allow_migrate_model(schema_editor.connection.alias, model):
            return
        table = schema_editor.quote_name(model._meta.db_table)

        def columns(fields: Sequence[str]) -> list[str]:
            return [model._meta.get_field(field).column for field in fields]

        with schema_editor.connection.cursor() as cursor:
            cursor.execute(
                "SELECT blend.attach_table(table_name => %s, text_columns => %s,"
                " title_column => %s, metadata_columns => %s::text[], collection => %s)",
                [
                    table,
                    columns(self.text),
                    columns([self.title])[0] if self.title else None,
                    columns(self.metadata),
                    self.collection,
                ],
            )
            filled = None
            while filled != 0:
                cursor.execute("SELECT blend.fill_table(%s)", [table])
                (filled,) = cursor.fetchone()

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Detach the table; the collection's documents go."""
        model = from_state.apps.get_model(app_label, self.model_name)
        if self.allow_migrate_model(schema_editor.connection.alias, model):
            table = schema_editor.quote_name(model._meta.db_table)
            with schema_editor.connection.cursor() as cursor:
                cursor.execute("SELECT blend.detach_table(%s)", [table])

    def references_model(self, name: str, app_label: str) -> bool:
        """Whether the operation is about a model."""
        return name.lower() == self.model_name.lower()

    def describe(self) -> str:
        """Say what migrate does."""
        return f"Search the table of {self.model_name}"

    @property
    def migration_name_fragment(self) -> str:
        """Name a migration that does this alone."""
        return f"search_{self.model_name.lower()}"


class _SearchJoin:
    """The search in a query's FROM clause, joined to the table by its key.

    It has what Django's Query asks of the entries of its alias_map.
    """

    table_name = _TABLE
    join_field = filtered_relation = None
    nullable = False

    def __init__(
        self,
        parent_alias: str,
        key_column: str,
        arguments: Mapping[str, Any],
        table_alias: str | None = None,
    ) -> None:
        self.parent_alias, self.key_column = parent_alias, key_column
        self.arguments, self.table_alias = arguments, table_alias
        self.join_type = INNER

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        """Return the clause and its parameters."""
        quote = compiler.quote_name_unless_alias
        found, key = quote(self.table_alias), connection.ops.quote_name(self.key_column)
        named = ", ".join(f"{name} => %s" for name in self.arguments)
        return (
            f"{self.join_type} blend.hybrid_search({named}) AS {found}"
            f" ON ({found}.source_key = {quote(self.parent_alias)}.{key}::text)",
            list(self.arguments.values()),
        )

    def relabeled_clone(self, change_map: Mapping[str, str]) -> "_SearchJoin":
        """Return the same with other aliases."""
        return _SearchJoin(
            change_map.get(self.parent_alias, self.parent_alias),
            self.key_column,
            self.arguments,
            change_map.get(str(self.table_alias), self.table_alias),
        )

    def demote(self) -> "_SearchJoin":
        """Return an inner join: it is one."""
        return self

    promote = demote


class _SearchColumn(Expression):  # type: ignore[misc]
    """A column of the joined search in expressions of the query set."""

    def __init__(self, alias: str, name: str, output_field: Any) -> None:
        super().__init__(output_field=output_field)
        self.alias, self.name = alias, name

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        """Return the column and no parameters."""
        return f"{compiler.quote_name_unless_alias(self.alias)}.{self.name}", []

    def relabeled_clone(self, change_map: Mapping[str, str]) -> "_SearchColumn":
        """Return the same with another alias."""
        return _SearchColumn(change_map.get(self.alias, self.alias), self.name, self.output_field)


def _key_column(model: type[models.Model]) -> str:
    columns: list[str] = [field.column for field in model._meta.pk_fields]
    if len(columns) != 1:
        raise ImproperlyConfigured(
            f"{model.__name__} has the key ({', '.join(columns)}): expected one column"
        )
    return columns[0]


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value)

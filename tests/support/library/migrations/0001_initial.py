"""Make the tables."""

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies: ClassVar = []
    operations: ClassVar = [
        migrations.CreateModel(
            "Author",
            [("id", models.AutoField(primary_key=True)), ("name", models.TextField())],
        ),
        migrations.CreateModel(
            "Article",
            [
                ("id", models.AutoField(primary_key=True)),
                ("title", models.TextField()),
                ("body", models.TextField(db_column="text")),
                ("year", models.IntegerField()),
                ("author", models.ForeignKey("Author", django.db.models.deletion.CASCADE)),
            ],
        ),
    ]

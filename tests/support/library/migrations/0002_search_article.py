"""Have a collection follow the articles."""

from typing import ClassVar

from django.db import migrations

from pgblend.integrations.django import AttachTable


class Migration(migrations.Migration):
    dependencies: ClassVar = [("library", "0001_initial")]
    operations: ClassVar = [
        AttachTable("Article", ["body"], title="title", metadata=["year", "author"])
    ]

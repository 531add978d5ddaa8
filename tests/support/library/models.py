"""Articles, which a collection follows, and notes with a key of two columns."""

from django.db import models

from pgblend.integrations.django import SearchManager


class Author(models.Model):
    name = models.TextField()

    class Meta:
        app_label = "library"


class Article(models.Model):
    title = models.TextField()
    body = models.TextField(db_column="text")
    year = models.IntegerField()
    author = models.ForeignKey(Author, models.CASCADE)

    objects = SearchManager()

    class Meta:
        app_label = "library"


class Note(models.Model):
    pk = models.CompositePrimaryKey("article_id", "number")
    article = models.ForeignKey(Article, models.CASCADE)
    number = models.IntegerField()

    objects = SearchManager()

    class Meta:
        app_label = "library"

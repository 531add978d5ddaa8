"""Linear's issues as its API gives them: a document for each issue, with its comments."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from pgblend.cli.documents.conversation import Conversation, conversation
from pgblend.cli.documents.document import Message, storable_text

_IDENTIFIER = re.compile(r"[A-Z][A-Z0-9]*-\d+")


def find_issues(value: Any) -> list[Any] | None:
    """Return the entries of an export: a list, {"issues": …} or {"data": {"issues": …}}.

    None where it is something else: fewer than half of the entries are issues (is_issue).
    """
    if isinstance(value, dict) and isinstance(value.get("data"), dict):
        value = value["data"]
    if isinstance(value, dict) and "issues" in value:
        value = value["issues"]
    items = value.get("nodes") if isinstance(value, dict) else value
    if not isinstance(items, list) or not items:
        return None
    return items if 2 * sum(map(is_issue, items)) >= len(items) else None


def is_issue(item: Any) -> bool:
    """Tell whether an entry has an identifier such as ENG-12, a title, and what issues have."""
    return (
        isinstance(item, dict)
        and isinstance(item.get("title"), str)
        and isinstance(item.get("identifier"), str)
        and _IDENTIFIER.fullmatch(item["identifier"]) is not None
        and bool({"description", "comments", "state"} & item.keys())
    )


def parse_linear(issues: Iterable[dict[str, Any]]) -> Iterator[Conversation]:
    """Yield the issues; the description is the first message, the comments follow in time."""
    for issue in issues:
        identifier = issue["identifier"]
        first = _message(issue, issue.get("description") or issue["title"], "creator", identifier)
        comments = sorted(
            (
                _message(comment, comment.get("body"), "user", identifier)
                for comment in _nodes(issue.get("comments"))
            ),
            key=lambda message: message.time,
        )
        yield conversation(
            identifier,
            _text(issue.get("id")) or identifier,
            storable_text(f"{identifier} {issue['title']}"),
            _text(issue.get("url")),
            _metadata(issue),
            [first, *comments],
        )


def _metadata(issue: dict[str, Any]) -> dict[str, Any]:
    """Return what an issue's fields say, without what is missing."""
    found = {
        "linearIssueId": issue.get("id") or issue["identifier"],
        "linearIdentifier": issue["identifier"],
        "state": _name(issue.get("state") or issue.get("status")),
        "team": _name(issue.get("team")),
        "project": _name(issue.get("project")),
        "assignee": _name(issue.get("assignee")),
        "priority": issue.get("priorityLabel") or issue.get("priority"),
        "labels": [name for name in map(_name, _nodes(issue.get("labels"))) if name],
        "date": issue.get("createdAt"),
    }
    return {key: value for key, value in found.items() if value not in (None, "", [])}


def _message(item: dict[str, Any], body: Any, author_key: str, identifier: str) -> Message:
    author = _name(item.get(author_key) or item.get("user") or item.get("author"))
    return Message(
        id=_text(item.get("id")) or identifier,
        author=author,
        time=_text(item.get("createdAt")),
        text=storable_text(_text(body)),
        url=_text(item.get("url")),
        context=identifier,
        metadata={"linearAuthor": author} if author else {},
    )


def _nodes(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list, or of a GraphQL connection; a bare name counts as one."""
    items = value.get("nodes") if isinstance(value, dict) else value
    if not isinstance(items, list):
        return []
    return [item if isinstance(item, dict) else {"name": item} for item in items]


def _name(value: Any) -> str:
    """Return the name out of an object, or the name itself."""
    if isinstance(value, dict):
        value = value.get("displayName") or value.get("name") or value.get("email")
    return storable_text(_text(value))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

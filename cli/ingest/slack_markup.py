"""Slack's markup as text: names for ids, labels for links."""

import html
import re
from collections.abc import Mapping

_TOKEN = re.compile(r"<([^<>\n]+)>")
_WEB = ("http://", "https://")


def plain_text(text: str, users: Mapping[str, str], channels: Mapping[str, str]) -> str:
    """Resolve <@U…>, <#C…>, <!here> and <url|label>; what is not known keeps its id."""

    def resolve(match: re.Match[str]) -> str:
        target, _, label = match.group(1).partition("|")
        if target.startswith("@"):
            return f"@{users.get(target[1:]) or label or target[1:]}"
        if target.startswith("#"):
            return f"#{channels.get(target[1:]) or label or target[1:]}"
        if target.startswith("!"):
            word = target[1:].partition("^")[0]
            return label or f"@{word}"
        if not label or label == target:
            return target
        return f"{label} ({target})" if target.startswith(_WEB) and label not in target else label

    return html.unescape(_TOKEN.sub(resolve, text))

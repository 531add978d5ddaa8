"""A Slack export, a ZIP archive or its folder: a document for each channel."""

import html
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pgblend.cli.documents.conversation import Conversation, broken_conversation, conversation
from pgblend.cli.documents.decode import decode
from pgblend.cli.documents.discovery import (
    CHANNELS_FILE,
    USERS_FILE,
    export_files,
    is_slack_export,
    open_file,
)
from pgblend.cli.documents.document import Message, ParseError, storable_text
from pgblend.cli.documents.json_records import load_json
from pgblend.cli.documents.office_file import open_archive, read_member

# Slack's markup as text: names for ids, labels for links.

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


_CHANNEL_FILES = (CHANNELS_FILE, "groups.json", "mpims.json", "dms.json")
# What Slack writes by itself about members and integrations.
_SKIPPED_SUBTYPES = (
    "channel_join channel_leave group_join group_leave bot_add bot_remove channel_archive "
    "channel_unarchive group_archive group_unarchive tombstone pinned_item"
)
_SKIPPED = frozenset(_SKIPPED_SUBTYPES.split())
_ARCHIVE_URL = "https://slack.com/archives"


@dataclass(frozen=True)
class Export:
    """The files of an export by name, and how to read one."""

    names: list[str]
    read: Callable[[str], bytes]

    def load(self, name: str) -> list[dict[str, Any]]:
        """Return a file's objects; an empty list where there is no such file."""
        if name not in self.names:
            return []
        try:
            value = load_json(decode(self.read(name)))
        except ParseError as error:
            raise ParseError(f"{name} of the Slack export: {error}") from None
        if not isinstance(value, list):
            raise ParseError(f"{name} of the Slack export is no list")
        return [item for item in value if isinstance(item, dict)]


def is_export_archive(path: Path, roots: Sequence[Path] | None = None) -> bool:
    """Whether a ZIP archive (see open_file) is a Slack export; False for what cannot be read."""
    try:
        with open_file(path, roots) as stream, zipfile.ZipFile(stream) as archive:
            return is_slack_export(archive.namelist())
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        return False


@contextmanager
def open_export(path: Path, roots: Sequence[Path] | None = None) -> Iterator[Export]:
    """Open an export (see open_file); nothing of an archive is written to disk.

    With `roots`, links that lead out of an export's folder are no part of it.
    """
    if path.is_dir():
        files, _ = export_files(path, follow_links=roots is None)
        names = [file.relative_to(path).as_posix() for file in files]

        def read(name: str) -> bytes:
            with open_file(path / name, roots) as stream:
                return stream.read()

        yield Export(names, read)
        return
    with open_file(path, roots) as stream:
        data = stream.read()
    with open_archive(data) as archive:
        yield Export(archive.namelist(), lambda name: read_member(archive, name))


def parse_slack(export: Export) -> Iterator[Conversation]:
    """Yield the channels, private groups and direct messages of an export.

    A channel with a file that cannot be read fails as a whole, and no other does.
    """
    users = {
        user["id"]: _user_name(user)
        for user in export.load(USERS_FILE)
        if isinstance(user.get("id"), str)
    }
    channels = [
        channel
        for name in _CHANNEL_FILES
        for channel in export.load(name)
        if isinstance(channel.get("id"), str)
    ]
    names = {channel["id"]: _text(channel.get("name")) for channel in channels}
    for channel in channels:
        folder = _text(channel.get("name")) or channel["id"]
        days = sorted(
            name
            for name in export.names
            if posixpath.dirname(name) == folder and name.endswith(".json")
        )
        reader = _SlackReader(channel["id"], users, names)
        try:
            messages = [message for day in days for message in reader.read(export.load(day))]
        except ParseError as error:
            yield broken_conversation(folder, channel["id"], error)
            continue
        if messages:
            yield _conversation(channel, folder, users, messages)


class _SlackReader:
    """Turns the raw messages of one channel into messages."""

    def __init__(self, channel: str, users: Mapping[str, str], names: Mapping[str, str]) -> None:
        self._channel = channel
        self._users = users
        self._names = names

    def read(self, items: list[dict[str, Any]]) -> Iterator[tuple[float, float, Message]]:
        """Yield messages, each after the times of its thread and its own."""
        for item in items:
            stamp = _text(item.get("ts"))
            if item.get("type") != "message" or item.get("subtype") in _SKIPPED:
                continue
            try:
                time = float(stamp)
                moment = datetime.fromtimestamp(time, UTC)
                thread = _text(item.get("thread_ts"))
                thread_time = float(thread or stamp)
            except (ValueError, OverflowError, OSError):
                continue
            text = self._message_text(item)
            if text:
                yield thread_time, time, self._message(item, stamp, thread, moment, text)

    def _message(
        self, item: dict[str, Any], stamp: str, thread: str, moment: datetime, text: str
    ) -> Message:
        author = self._author(item)
        url = f"{_ARCHIVE_URL}/{self._channel}/p{stamp.replace('.', '')}"
        if thread and thread != stamp:
            url += f"?thread_ts={thread}&cid={self._channel}"
        metadata = {"slackAuthor": author} if author else {}
        if isinstance(item.get("user"), str):
            metadata["slackAuthorId"] = item["user"]
        return Message(
            id=stamp,
            author=author,
            time=moment.isoformat(timespec="seconds"),
            text=text,
            url=url,
            context=thread or "channel",
            metadata=metadata,
        )

    def _author(self, item: dict[str, Any]) -> str:
        profile = item.get("user_profile") or item.get("bot_profile")
        names = profile if isinstance(profile, dict) else {}
        return (
            self._users.get(_text(item.get("user")), "")
            or _text(names.get("display_name") or names.get("real_name") or names.get("name"))
            or _text(item.get("username") or item.get("user") or item.get("bot_id"))
        )

    def _message_text(self, item: dict[str, Any]) -> str:
        """Join a message's text, what its attachments say and the titles of its files."""
        parts = [item.get("text")]
        for attachment in _objects(item.get("attachments")):
            said = [attachment.get(key) for key in ("pretext", "title", "text")]
            parts += said if any(said) else [attachment.get("fallback")]
        for file in [*_objects(item.get("files")), *_objects([item.get("file")])]:
            title = _text(file.get("title") or file.get("name"))
            if title and title not in _text(item.get("text")):
                parts.append(f"[{title}]")
        texts = (plain_text(_text(part), self._users, self._names).strip() for part in parts)
        return storable_text("\n".join(text for text in texts if text))


def _conversation(
    channel: dict[str, Any],
    folder: str,
    users: Mapping[str, str],
    messages: list[tuple[float, float, Message]],
) -> Conversation:
    """Order a channel's messages by thread; replies follow what they answer."""
    ordered = [message for *_, message in sorted(messages, key=lambda item: item[:2])]
    name = _text(channel.get("name"))
    listed = channel.get("members")
    named = (_text(member) for member in (listed if isinstance(listed, list) else []))
    members = [users.get(member, member) for member in named]
    metadata = {"slackChannelId": channel["id"], "slackChannel": name or ", ".join(members)}
    for key in ("topic", "purpose"):
        about = channel.get(key)
        value = _text(about.get("value")) if isinstance(about, dict) else ""
        if value:
            metadata[key] = plain_text(value, users, {})
    title = f"#{name}" if name else ", ".join(members)
    uri = f"{_ARCHIVE_URL}/{channel['id']}"
    return conversation(folder, channel["id"], title, uri, metadata, ordered)


def _user_name(user: dict[str, Any]) -> str:
    profile = user.get("profile") if isinstance(user.get("profile"), dict) else {}
    assert isinstance(profile, dict)
    names = (profile.get("display_name"), profile.get("real_name"), user.get("real_name"))
    return next((_text(name) for name in names if name), _text(user.get("name")))


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

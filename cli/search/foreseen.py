"""What a routine will ask, by what it asked before: statements that then travel together.

What did not depend on answers is sent ahead, in the order of the last call. The program takes an
answer only for the very statement and values that it asks. So a wrong guess costs time alone.
"""

from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from pgblend.cli.search.outside import Outside, Typed
from pgblend.plpy.base.session import Rows, keep_value
from pgblend.plpy.search.plan import READ_STATE

_STATES = {state for states in READ_STATE.values() for state in states.values()}
_MOST = 50  # statements of a call
_MOST_KEPT = 200  # courses
_SETTING = "SELECT set_config("
# It bounds what follows by the time that is left: what is sent ahead ends before it.
_LIMIT = "SELECT set_config('statement_timeout'"


class Asked(NamedTuple):
    """A statement and its values."""

    statement: str
    given: tuple[Typed, ...]

    @property
    def sets(self) -> bool:
        """Whether it changes a setting for what follows."""
        return self.statement.startswith(_SETTING)

    @property
    def key(self) -> tuple[str, tuple[Typed, ...]]:
        """What has equal answers: the last value of READ_STATE is a name drawn at random."""
        is_state = self.statement in _STATES
        return self.statement, self.given[:-1] if is_state else self.given


class _Argument(NamedTuple):
    """A value that is an argument of the call, or an array of it alone."""

    place: int
    is_array: bool
    oid: int


class _Pattern(NamedTuple):
    """A statement whose values may be the call's arguments."""

    statement: str
    given: tuple[Typed | _Argument, ...]

    def filled(self, arguments: Sequence[Any]) -> Asked:
        """Return the statement for a call's arguments."""
        given = []
        for one in self.given:
            if isinstance(one, _Argument):
                text = arguments[one.place]
                one = Typed(f'{{"{text}"}}' if one.is_array else text, one.oid)
            given.append(one)
        return Asked(self.statement, tuple(given))


class _Course(NamedTuple):
    """What a routine asked when it was called last, and of that what it asked before as well."""

    arguments: tuple[Any, ...]
    asked: tuple[_Pattern, ...]
    sure: tuple[_Pattern, ...]

    def fits(self, arguments: tuple[Any, ...]) -> bool:
        """Whether a call differs only in what statements took as it was."""
        given = (one for each in self.sure for one in each.given)
        taken = {one.place for one in given if isinstance(one, _Argument)}
        return len(arguments) == len(self.arguments) and all(
            (isinstance(new, str) and isinstance(old, str)) if place in taken else new == old
            for place, (new, old) in enumerate(zip(arguments, self.arguments, strict=True))
        )


class Foreseen:
    """The statements of one call after the other."""

    def __init__(self) -> None:
        self._courses: dict[str, _Course] = {}
        self._begin("", ())

    @contextmanager
    def call(self, name: str, arguments: Sequence[Any]) -> Iterator[None]:
        """Foresee the statements of a call, and keep which they were; of "" none."""
        self._begin(name, arguments)
        yield
        if name:
            self._keep()
        self._begin("", ())

    def _begin(self, name: str, arguments: Sequence[Any]) -> None:
        self._name, self._arguments = name, tuple(arguments)
        self._asked: list[Asked] = []
        self._came: dict[Any, Rows] = {}
        # What the program set, and what is set on the server, each since the savepoint.
        self._wanted: list[Asked] = []
        self._set: list[Asked] = []
        self._expected: list[Asked] = []
        course = self._courses.get(name)
        if course is not None and course.fits(self._arguments):
            self._expected = [one.filled(arguments) for one in course.sure]

    def take(self, asked: Asked) -> Rows | None:
        """Return the answer to a statement that was sent ahead."""
        self._asked.append(asked)
        found = self._came.pop(asked.key, None)
        if found is not None and asked.sets:
            self._wanted.append(asked)
        return found

    def along(self, asked: Asked | None = None) -> list[Asked]:
        """Return what is to be sent at first, or with the first statement that is asked."""
        along = [one for one in self._expected if asked is None or one.key != asked.key]
        self._expected = []
        return along

    def sent(self, ahead: Iterable[Asked]) -> None:
        """Note what was sent ahead."""
        self._set += [one for one in ahead if one.sets]

    def came(self, asked: Asked, rows: Rows) -> None:
        """Keep the answer to a statement that was sent ahead."""
        self._came[asked.key] = rows

    def ran(self, asked: Asked) -> None:
        """Note that a statement ran when it was asked."""
        if asked.sets:
            self._wanted.append(asked)
            self._set.append(asked)

    @property
    def is_astray(self) -> bool:
        """Whether the server has other settings than the program set."""
        return self._wanted != self._set

    @property
    def has_set(self) -> bool:
        """Whether the server has other settings than the savepoint had."""
        return bool(self._set)

    @property
    def has_limit(self) -> bool:
        """Whether the program has set how long its statements may take."""
        return any(one.statement.startswith(_LIMIT) for one in self._set)

    def settings(self) -> list[Asked]:
        """Return what is to be set anew after the savepoint was gone back to."""
        self._set = [*self._wanted]
        return self._set

    def gone_back(self, kept: bool = False) -> None:
        """Note that the server has what the savepoint had; `kept`: that was all."""
        self._set = []
        if kept:
            self._wanted = []

    def _keep(self) -> None:
        asked = []
        for one in self._asked[:_MOST]:
            if one.statement.startswith(_LIMIT):
                break
            asked.append(self._pattern(one))
        before = self._courses.get(self._name)
        known = set(before.asked) if before else set()
        sure = tuple(one for one in asked if one in known)
        course = _Course(self._arguments, tuple(asked), sure)
        keep_value(self._courses, self._name, course, _MOST_KEPT)

    def _pattern(self, asked: Asked) -> _Pattern:
        places: dict[str, int] = {}
        for place, one in enumerate(self._arguments):
            if isinstance(one, str):
                places.setdefault(one, place)
        given: list[Typed | _Argument] = []
        for value in asked.key[1]:
            text = value.text or ""
            if text in places:
                given.append(_Argument(places[text], False, value.oid))
            elif text[2:-2] in places and text == f'{{"{text[2:-2]}"}}':
                given.append(_Argument(places[text[2:-2]], True, value.oid))
            else:
                given.append(value)
        given += [Typed(None, one.oid) for one in asked.given[len(given) :]]
        return _Pattern(asked.statement, tuple(given))


class ForeseeingDatabase(Outside):
    """A Database whose statements travel together, all within one savepoint."""

    Failed: type[Exception]  # what `_exchange` raises for a statement that failed

    def __init__(self, session: MutableMapping[str, Any] | None = None) -> None:
        self.foreseen = Foreseen()
        super().__init__(session)

    def _rows(self, statement: str, given: list[Typed]) -> Rows:
        asked = Asked(statement, tuple(given))
        if (known := self.foreseen.take(asked)) is not None:
            return known
        if along := self.foreseen.along(asked):
            try:
                found, *ahead = self._exchange([asked, *along])
            except self.Failed:
                self._go_back()
            else:
                self.foreseen.ran(asked)
                self.foreseen.sent(along)
                for one, rows in zip(along, ahead, strict=True):
                    self.foreseen.came(one, rows)
                return found
        return self._asked_alone(asked)

    def _asked_alone(self, asked: Asked) -> Rows:
        settings: list[Asked] = []
        if self.foreseen.is_astray:
            if self.foreseen.has_set:
                self._go_back()
            settings = self.foreseen.settings()
        try:
            *_, found = self._exchange([*settings, asked])
        except self.Failed:
            self._go_back()
            raise
        self.foreseen.ran(asked)
        return found

    def _go_back(self) -> None:
        self._post_rollback()
        self.foreseen.gone_back()

    def _exchange(self, asked: Sequence[Asked]) -> list[Rows]:
        """Send statements at once and return their rows."""
        raise NotImplementedError

    def _post_rollback(self) -> None:
        """Have the server go back to the savepoint before the next statements."""
        raise NotImplementedError

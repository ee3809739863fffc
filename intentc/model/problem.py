"""A problem in the input that a person must fix, errors for input that can't be used, and exceptions in words.

``described`` is never empty: several libraries raise exceptions without a text, and a message that ends in a colon
helps nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec


def described(error: BaseException) -> str:
    """The class and text of ``error``; if it has no text, the text of the first cause that has one.

    >>> described(ValueError("no number")), described(TimeoutError())
    ('ValueError: no number', 'TimeoutError')
    """
    name, seen = type(error).__name__, 0
    cause: BaseException | None = error
    while cause is not None and seen < _CAUSES:
        if text := str(cause).strip():
            return f"{name}: {text}"
        cause, seen = cause.__cause__ or cause.__context__, seen + 1
    return name


_CAUSES = 10


UNKNOWN_FIELD = "UnknownField"
"""The reason of a resource that has a field which only an earlier schema of its kind declared."""


class Problem(msgspec.Struct, frozen=True, order=True):
    """``kind`` and ``name`` (fq_name joined by ``:``) of the resource it is about; ``reason`` a CamelCase word that
    programs can test; ``message`` what is wrong and what to do, for people; ``source`` where (``file:line``, or
    ``key@revision``); ``trace`` the frames of the author's code that led to it, the innermost and the exception last,
    if an evaluation raised one."""

    kind: str
    name: str
    reason: str
    message: str
    source: str = ""
    trace: tuple[str, ...] = ()

    def shown(self) -> dict[str, Any]:
        """The fields as JSON values, except ``trace``: lists have many problems, `intentc why` shows one."""
        return {field: getattr(self, field) for field in self.__struct_fields__ if field != "trace"}


class InvalidInput(ValueError):
    """Input that can't be used. ``str`` says where (file:line or key), what, and what to do next.

    >>> str(InvalidInput("there is no kind farn; did you mean farm?", source="farms.yml:3"))
    'farms.yml:3: there is no kind farn; did you mean farm?'
    """

    def __init__(self, message: str, *, source: str = "", reason: str = "InvalidInput") -> None:
        super().__init__(f"{source}: {message}" if source else message)
        self.message = message
        self.source = source
        self.reason = reason


class SeveralInvalid(InvalidInput):
    """Several things in the input can't be used; ``errors`` has each, in the order of the input."""

    def __init__(self, errors: Sequence[InvalidInput]) -> None:
        super().__init__("\n  ".join([f"{len(errors)} faults in the input:", *map(str, errors)]))
        self.errors = tuple(errors)


def all_invalid(errors: Sequence[InvalidInput]) -> InvalidInput:
    """One error for all of ``errors``, of which there is at least one."""
    found = [one for error in errors for one in (error.errors if isinstance(error, SeveralInvalid) else (error,))]
    return found[0] if len(found) == 1 else SeveralInvalid(found)

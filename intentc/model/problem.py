"""A problem: something in the input that a person must mend, told on the resource that it is about."""

from __future__ import annotations

import msgspec


class Problem(msgspec.Struct, frozen=True, order=True):
    """``kind`` and ``name`` (fq_name joined by ``:``) of the resource it is about; ``reason`` a CamelCase word that
    programs can test; ``message`` what is wrong and what to do, for people; ``source`` where (``file:line``, or
    ``key@revision``)."""

    kind: str
    name: str
    reason: str
    message: str
    source: str = ""


class InvalidInput(ValueError):
    """Input that can't be used. ``str`` says where (file:line or key), what, and what to do next."""

    def __init__(self, message: str, *, source: str = "", reason: str = "InvalidInput") -> None:
        super().__init__(f"{source}: {message}" if source else message)
        self.message = message
        self.source = source
        self.reason = reason

"""What a compiler lets people look at: tables of what it made, by name (``Compiler(views=…)``).

Why it exists: what a gateway's routes are, or who uses a service, is spread over many objects, and only the compiler's
author knows how. The engine has the objects and the problems, ``/views`` and ``intentc show`` have readers; neither
knows a kind. How tables are paged and filtered is their business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from intentc.model import Problem

Row = dict[str, Any]
"""Column → JSON value: a text, a number, a bool, or a list of texts or of flat objects."""


PROBLEMS = "problems"
"""The view that is there whichever compilers run."""


class Compiled(Protocol):
    """Resources as they stand in the store at one moment, and the problems there are; it never changes.

    A resource is ``{"kind", "uuid", "fq_name": [text], field: value …}`` as it is stored, so that fields with their
    default value may be missing, and with ``<secret>`` for what is sensitive.
    """

    @property
    def problems(self) -> Sequence[Problem]:
        """What people must mend now, sorted."""
        ...

    def objects(self, kind: str) -> Iterable[Mapping[str, Any]]:
        """The resources of ``kind``, sorted by name. Raises ``KeyError`` for one that the view doesn't declare."""
        ...

    def named(self, kind: str, name: str) -> Mapping[str, Any] | None:
        """The resource of ``kind`` whose fq_name, joined by ``:``, is ``name``; None if there is none, or if the view
        doesn't declare the kind."""
        ...


class Overview(NamedTuple):
    """One view. ``description``: a line for people. ``kinds``: the kinds that it looks at. ``columns``: what every row
    has, the most important first. ``rows``: a pure function; it may run in a thread of its own."""

    description: str
    kinds: tuple[str, ...]
    columns: tuple[str, ...]
    rows: Callable[[Compiled], Iterable[Row]]

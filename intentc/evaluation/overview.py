"""What a compiler says about its outputs: views, names that other programs use, and remarks on planned changes.

Views are tables by name (``Compiler(views=…)``): the routes of a gateway, or the users of a service, are spread over
many objects, and only the compiler's author knows how. The engine has the objects and the problems; ``/views`` and
``intentc show`` page, filter and show the tables. A statistic or log line of another program has its own name for a
thing, not the object's, and again only the author knows how they relate (``Compiler(names=…)``). A plan shows
which fields of an output change; what that means outside, such as the restart of a program, the author knows, too
(``Compiler(remarks=…)``).

Declarations only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from intentc.model import Problem

Row = dict[str, Any]
"""Column → JSON value: a text, a number, a bool, or a list of texts or of flat objects."""


PROBLEMS, PLANNED = "problems", "planned"
"""The views that exist whichever compilers run: of what people must fix, and of what would be written."""


class Compiled(Protocol):
    """Stored resources and problems at one moment; it never changes.

    A resource is ``{"kind", "uuid", "fq_name": [text], field: value …}`` as it is stored, so that fields with their
    default value may be missing, and with ``<secret>`` for what is sensitive.
    """

    @property
    def problems(self) -> Sequence[Problem]:
        """The problems that people must fix now, sorted."""
        ...

    def objects(self, kind: str) -> Iterable[Mapping[str, Any]]:
        """The resources of ``kind``, sorted by name. Raises ``KeyError`` for a kind that the view doesn't declare."""
        ...

    def named(self, kind: str, name: str) -> Mapping[str, Any] | None:
        """The resource of ``kind`` whose fq_name, joined by ``:``, is ``name``; None if there is none, or if the view
        doesn't declare the kind."""
        ...


class Overview(NamedTuple):
    """One view. ``description``: a line for people. ``kinds``: the kinds that it looks at. ``columns``: the columns of
    every row, the most important first. ``rows``: a pure function; it may run in a separate thread.

    >>> def crops(compiled):
    ...     for plan in compiled.objects("field_plan"):
    ...         yield {"farm": plan["fq_name"][0], "crops": plan["crops"]}
    >>> Overview("what grows where", ("field_plan",), ("farm", "crops"), crops).columns
    ('farm', 'crops')
    """

    description: str
    kinds: tuple[str, ...]
    columns: tuple[str, ...]
    rows: Callable[[Compiled], Iterable[Row]]


class Naming(NamedTuple):
    """``kinds``: the kinds that it looks at, and may name. ``find``: a pure function of a text and of the objects of
    these kinds → (kind, fq_name joined by ``:``) of each object that the text may mean, the likeliest first; they need
    not exist. It is called twice: first with a ``Compiled`` that only finds single objects by name, which is cheap, and
    if that yields nothing with all objects, in a separate thread.

    >>> def of_farm(text, compiled):
    ...     return [("field_plan", f"{text}:plan")]
    >>> names = {"field": Naming(("field_plan",), of_farm)}
    """

    kinds: tuple[str, ...]
    find: Callable[[str, Compiled], Iterable[tuple[str, str]]]


Remark = Callable[[Mapping[str, Any] | None, Mapping[str, Any] | None], Iterable[str]]
"""What a planned change of one output means: a pure function of its stored form before and after (None: absent; secrets
are ``<secret>``) → texts for people, such as ``restarts: deployment shop/web (image a → b)``; none if there is nothing
to say.

>>> def ploughed(before, after):
...     if before and after and before["crops"] != after["crops"]:
...         yield f"ploughed: {after['fq_name'][0]}"
>>> remarks = {"field_plan": ploughed}
"""

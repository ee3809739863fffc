"""Declares a package of kinds, intents and reactions, and what its author says about the outputs.

``intentc.compilers`` is the entry-point group; each entry leads to one ``Compiler``. ``intentc/plugins.py`` loads what
it names. Only the compiler's author knows how objects relate to each other, which names other programs have for them,
and what a change of them means there: views, namings and remarks say so.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from intentc.model import InvalidInput, Problem

from .intent import Intent

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


_TRUST = ("reads", "reactions")
_SIMILAR = 0.8
"""How similar to ``evaluate`` a misspelling is."""


class Compiler:
    """One compiler.

    ``name``: the name in the configuration and in the marks on objects, and of its folder of schemas and its reaction
    map in intentc. A compiler that ships separately gives its own: ``schema_directories`` (each holds a folder called
    ``name``) and ``reactions`` (the map's file). ``pools``: the API server's pools that its intents allocate from, or
    families of pools, whose names end with a colon; their allocations are read before the first evaluation. ``views``:
    tables of its outputs for people, by name. ``names``: other names of its outputs, by the word that people give in
    place of a kind. ``remarks``: what a planned change of one of its outputs means, by the output's kind.

    ``settings``: the names that its evaluations read by ``ctx.setting``, each beginning with the compiler's name and a
    dot; any other one in a configuration is an error. None: not declared, so every name is accepted. ``finalizers``:
    the names that its intents claim by ``finalizer``; they are its own on every resource. The intents of a compiler
    that declares any make nothing more for a resource that is being deleted.

    ``needs_synced``: the kinds of which a bridge must have mirrored all resources before anything is compiled. If a
    bridge mirrors a cluster, nothing is evaluated until it has listed each of them once (``intentc.kubernetes.wait``).

    ``makes``: the kinds of the objects that its intents make in a cluster, such as ``apps/v1/Deployment`` or
    ``v1/Service``. Such objects are found again after the store was lost.

    Raises ``InvalidInput`` if two intents compile one kind, if an intent has no kind or an unknown ``trust``, if its
    ``evaluate`` is misspelt or async, if a view
    has the name of the view that every compiler has, or if an entry of ``makes`` has another form.

    >>> class FarmIntent(Intent):
    ...     kind = "farm"
    >>> Compiler("farming", [FarmIntent], pools=["acre"]).intents["farm"] is FarmIntent
    True
    """

    def __init__(
        self,
        name: str,
        intents: Iterable[type[Intent]],
        *,
        schema_directories: Iterable[Path] = (),
        reactions: Path | None = None,
        pools: Iterable[str] = (),
        views: Mapping[str, Overview] | None = None,
        names: Mapping[str, Naming] | None = None,
        remarks: Mapping[str, Remark] | None = None,
        settings: Iterable[str] | None = None,
        finalizers: Iterable[str] = (),
        needs_synced: Iterable[str] = (),
        makes: Iterable[str] = (),
    ) -> None:
        self.name = name
        self.schema_directories = tuple(schema_directories)
        self.reactions = reactions
        self.pools = tuple(pools)
        self.finalizers = frozenset(finalizers)
        self.needs_synced = frozenset(needs_synced)
        self.makes = frozenset(makes)
        for one in sorted(self.makes):
            if one.count("/") not in (1, 2) or not all(one.split("/")):
                raise InvalidInput(f"compiler {name}: makes: {one!r} is no apiVersion/Kind, such as apps/v1/Deployment")
        self.settings = None if settings is None else frozenset(settings)
        self.views: Mapping[str, Overview] = dict(views or {})
        for view in (PROBLEMS, PLANNED):
            if view in self.views:
                raise InvalidInput(f"compiler {name}: every compiler has a view {view!r}; rename yours")
        self.names: Mapping[str, Naming] = dict(names or {})
        self.remarks: Mapping[str, Remark] = dict(remarks or {})
        self.intents: Mapping[str, type[Intent]] = self._by_kind(name, intents)
        """Kind → the class that compiles it."""

    @staticmethod
    def _by_kind(name: str, intents: Iterable[type[Intent]]) -> dict[str, type[Intent]]:
        found: dict[str, type[Intent]] = {}
        for intent in intents:
            if not intent.kind:
                raise InvalidInput(f"compiler {name}: {intent.__name__} has no kind; set its attribute `kind`")
            if intent.trust not in _TRUST:
                raise InvalidInput(
                    f"compiler {name}: {intent.__name__}.trust is {intent.trust!r}; it is one of {', '.join(_TRUST)}"
                )
            _check_evaluate(name, intent)
            other = found.setdefault(intent.kind, intent)
            if other is not intent:
                raise InvalidInput(
                    f"compiler {name}: {other.__name__} and {intent.__name__} both compile {intent.kind}; keep one"
                )
        return found

    @property
    def intent_kinds(self) -> Mapping[str, bool]:
        """Kind → whether it trusts the reaction map (docs/engine.md §3.3)."""
        return {kind: intent.trust == "reactions" for kind, intent in self.intents.items()}

    def __repr__(self) -> str:
        return f"<Compiler {self.name}>"


def _check_evaluate(compiler: str, intent: type[Intent]) -> None:
    """Reject an intent whose ``evaluate`` is misspelt, or returns a coroutine. One without ``evaluate`` is valid: it
    only takes part in relations."""
    evaluate = intent.evaluate
    if inspect.iscoroutinefunction(evaluate) or inspect.isasyncgenfunction(evaluate):
        raise InvalidInput(
            f"compiler {compiler}: {intent.__name__}.evaluate is async; it can't wait for anything: use `def`",
            source=_place(evaluate),
        )
    if evaluate is not Intent.evaluate:
        return
    own = {name: each for base in intent.__mro__ if base not in Intent.__mro__ for name, each in vars(base).items()}
    for name in difflib.get_close_matches("evaluate", own, 1, _SIMILAR):
        raise InvalidInput(
            f"compiler {compiler}: {intent.__name__} has {name!r} and no `evaluate`, so nothing would follow from a "
            f"{intent.kind}; rename it to `evaluate`",
            source=_place(own[name]),
        )


def _place(function: object) -> str:
    """``file:line`` of a function; empty if it has none."""
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else ""

"""Reaction maps: for a kind, and the cause through which it was reached, the kinds to visit next.

Read from YAML in the form

    intent-compiler:
      gateway:
        self: [route]
        service: [route]
      cluster:
        self: [all: gateway]

Kinds may be spelled in snake_case or kebab-case. ``all: KIND`` visits every object of KIND, related or not (for
globals, which affect every object). ``map_check.py`` checks whether the kinds exist and whether a map makes sense.

A map never changes once it is read; a reload replaces it as a whole. No other state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from intentc.loading import Located, did_you_mean, load_yaml
from intentc.model import snake

SELF = "self"
"""The cause of the changed object itself."""

ROOT = "intent-compiler"
_NOTHING_MEANT = f"if there are to be no reactions at all, write `{ROOT}: {{}}`"


class Visit(NamedTuple):
    """One kind to visit: its related objects, or with ``everyone`` all of its objects."""

    kind: str
    everyone: bool
    source: str


class Reaction(NamedTuple):
    """The kinds that an intent of ``kind`` reached by ``cause`` leads to. ``source``: file:line."""

    kind: str
    cause: str
    visits: tuple[Visit, ...]
    source: str


class ReactionMap:
    """All reactions of the compilers in use. Reactions to the same (kind, cause) are joined in order."""

    def __init__(self, reactions: Iterable[Reaction] = ()) -> None:
        self._reactions: dict[tuple[str, str], Reaction] = {}
        for reaction in reactions:
            former = self._reactions.get((reaction.kind, reaction.cause))
            if former is not None:
                reaction = former._replace(visits=former.visits + reaction.visits)
            self._reactions[reaction.kind, reaction.cause] = reaction
        self._next = {state: _kinds(r, everyone=False) for state, r in self._reactions.items()}
        self._all = {state: _kinds(r, everyone=True) for state, r in self._reactions.items()}
        self.starts = frozenset(kind for (kind, cause), r in self._reactions.items() if cause == SELF and r.visits)
        """The kinds whose changes lead further."""
        kinds = dict.fromkeys(kind for kind, _ in self._reactions)
        self._ranks: Mapping[str, int] = {kind: rank for rank, kind in enumerate(kinds)}

    def next(self, kind: str, cause: str) -> tuple[str, ...]:
        """The kinds whose related objects are visited next; () also if the map says nothing."""
        return self._next.get((kind, cause), ())

    def next_all(self, kind: str, cause: str) -> tuple[str, ...]:
        """The kinds of which every object is visited next."""
        return self._all.get((kind, cause), ())

    def rank(self, kind: str) -> int:
        """The position of a kind in the map, which orders a round of evaluations; unlisted kinds are last."""
        return self._ranks.get(kind, len(self._ranks))

    def __contains__(self, state: tuple[str, str]) -> bool:
        """Whether the map has an entry, even an empty one, for (kind, cause)."""
        return state in self._reactions

    def __iter__(self) -> Iterator[Reaction]:
        return iter(self._reactions.values())

    def __len__(self) -> int:
        return len(self._reactions)


class Edge(NamedTuple):
    """Leads from an intent of ``kind`` that was reached by ``cause`` to intents of the kind ``to``."""

    kind: str
    cause: str
    to: str

    def __str__(self) -> str:
        return f"{self.kind} (from {self.cause}) → {self.to}"


class Declared(NamedTuple):
    """How a map declares an edge. ``everyone``: to all of the kind, related or not; ``source``: file:line of its first
    place."""

    everyone: bool
    source: str


def edges(reactions: ReactionMap) -> dict[Edge, Declared]:
    """Every edge of a map, in order."""
    found: dict[Edge, Declared] = {}
    for reaction in reactions:
        for visit in reaction.visits:
            edge = Edge(reaction.kind, reaction.cause, visit.kind)
            former = found.get(edge, Declared(visit.everyone, visit.source))
            found[edge] = former._replace(everyone=former.everyone or visit.everyone)
    return found


def load(*texts: str | Path) -> ReactionMap:
    """The joined map of these texts, or of files where a ``Path`` is given. Raises ``InvalidInput`` with file:line for
    any other form. An empty file is an error, since a file that is being written looks like that and would end all
    reactions; ``intent-compiler: {}`` states that there are none."""
    return ReactionMap([reaction for text in texts for reaction in _of(text)])


def _kinds(reaction: Reaction, *, everyone: bool) -> tuple[str, ...]:
    return tuple(dict.fromkeys(visit.kind for visit in reaction.visits if visit.everyone is everyone))


def _of(text: str | Path) -> Iterator[Reaction]:
    document = load_yaml(text)
    if isinstance(text, Path):
        _reject_empty(document)
    return _reactions(document)


def _reject_empty(document: Located) -> None:
    said = document.value
    if said is None or said == {}:
        raise document.error(f"is empty; {_NOTHING_MEANT}", (), "Empty")
    if isinstance(said, dict) and [snake(key) for key in said] == [snake(ROOT)] and None in said.values():
        (key,) = said
        raise document.error(f"nothing stands under `{key}:`; {_NOTHING_MEANT}", (key,), "Empty")


def _reactions(document: Located) -> Iterator[Reaction]:
    root = _mapping(document, (), document.value, f"`{ROOT}:`")
    for key in root:
        if snake(key) != snake(ROOT):
            raise document.error(f"unknown key {key!r}{did_you_mean(key, [ROOT])}", (key,), "UnknownKey")
        kinds = _mapping(document, (key,), root[key], "kinds")
        _unique(document, (key,), kinds)
        for kind, declared in kinds.items():
            causes = _mapping(document, (key, kind), declared, "causes")
            _unique(document, (key, kind), causes)
            for cause, visits in causes.items():
                path = (key, kind, cause)
                yield Reaction(snake(kind), snake(cause), _visits(document, path, visits), document.where(path))


def _mapping(document: Located, path: tuple[str, ...], value: Any, content: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise document.error(f"{_at(path)}expected a mapping of {content}, found {_sort(value)}", path)
    return value


def _unique(document: Located, path: tuple[str, ...], names: Iterable[str]) -> None:
    spelled: dict[str, str] = {}
    for name in names:
        other = spelled.setdefault(snake(name), name)
        if other != name:
            raise document.error(f"{_at(path)}{other!r} and {name!r} are the same kind; keep one", (*path, name))


def _visits(document: Located, path: tuple[str, ...], value: Any) -> tuple[Visit, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise document.error(f"{_at(path)}expected a list of kinds, found {_sort(value)}; write [{value}]", path)
    found = []
    for place, item in enumerate(value):
        where = document.where((*path, place))
        if isinstance(item, str) and item:
            found.append(Visit(snake(item), False, where))
        elif isinstance(item, dict) and list(item) == ["all"] and isinstance(item["all"], str):
            found.append(Visit(snake(item["all"]), True, where))
        else:
            raise document.error(f"{_at(path)}expected a kind or `all: KIND`, found {item!r}", (*path, place))
    return tuple(found)


def _at(path: tuple[str, ...]) -> str:
    return f"{'.'.join(path)}: " if path else ""


def _sort(value: Any) -> str:
    return "a list" if isinstance(value, list) else "a mapping" if isinstance(value, dict) else repr(value)

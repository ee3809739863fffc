"""Finds the resource that a person means: by fq_name, uuid, or a unique end of the fq_name; kinds in any spelling.

It also finds claimed objects that do not exist yet, deleted resources, and objects by the name that another program
gives them. If nothing matches, or too much, the answer lists similar names.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import anyio.to_thread

from intentc.diagnostics.questions import NamedAs, Unanswerable
from intentc.engine.live import Live
from intentc.evaluation import Naming
from intentc.inspection.history import former_names, former_resources
from intentc.inspection.pending_references import referenced_names
from intentc.inspection.shown_resources import Gathered, document_of
from intentc.inspection.traversal import sliced
from intentc.logic import LiveWorld
from intentc.model import HeldInput, Key, Kind, Name, Problem, ResourceClaim, is_uuid, object_uuid
from intentc.model.matching import did_you_mean, fits, meant, near, near_kinds
from intentc.planning import Planner


async def called(live: Live, kind: str, text: str) -> tuple[Name, ...]:
    """Return the existing objects that ``text`` means, the likeliest first. ``kind``: a word under which a compiler
    offers names (``live.names``), or a kind that it names; any other finds nothing."""
    found: dict[Name, None] = {}
    for word, naming in live.names.items():
        wanted = naming.kinds if kind == word else tuple(one for one in naming.kinds if one == kind)
        if wanted:
            found |= dict.fromkeys(await _called_so(live, naming, wanted, text))
    return tuple(found)


async def _called_so(live: Live, naming: Naming, wanted: tuple[str, ...], text: str) -> list[Name]:
    single = _there(live.world, wanted, naming.find(text, _Single(live.world, naming)))
    if single:
        return single
    gathered = Gathered(live, naming.kinds)
    return _there(live.world, wanted, await anyio.to_thread.run_sync(lambda: list(naming.find(text, gathered))))


class _Single:
    """``Compiled`` for look-ups of single objects by name: it lists none."""

    def __init__(self, world: LiveWorld, naming: Naming) -> None:
        self.problems: tuple[Problem, ...] = ()
        self._world = world
        self._kinds = naming.kinds

    def objects(self, kind: str) -> tuple[Mapping[str, Any], ...]:
        return ()

    def named(self, kind: str, name: str) -> Mapping[str, Any] | None:
        world = self._world
        key = world.named(kind, tuple(name.split(":"))) if kind in self._kinds else None
        try:
            resource = world.resource(key) if key is not None else None
        except HeldInput:
            return None
        return document_of(resource) if resource is not None else None


def _there(world: LiveWorld, kinds: Iterable[str], names: Iterable[tuple[str, str]]) -> list[Name]:
    there = ((kind, world.cache.names.in_force(kind, name)) for kind, name in dict.fromkeys(names) if kind in kinds)
    states = (world.cache.state(Key(kind, uuid)) for kind, uuid in there if uuid is not None)
    return [Name(state.key.kind, state.fq_name) for state in states if state is not None]


_MOST_CANDIDATES = 20
_SHOWN_CANDIDATES = 5


class Found(NamedTuple):
    """``key``: the object or fact of this name, None if there is none. ``near``: similar names, if neither an object
    nor a claim has this name. ``former``: the deleted resource that had the name last, if known."""

    name: Name
    key: Key | None
    near: tuple[str, ...] = ()
    former: Key | None = None


def kind_of(live: Live, text: str) -> Kind:
    """Return the kind that ``text`` means. Raises ``Unanswerable`` with the nearest ones."""
    found = live.world.schema.spelt(text, plural=True)
    if found is not None:
        return found
    kinds = near_kinds(text, [*live.world.schema.kinds, *live.names])
    message = f"unknown kind {text!r}{did_you_mean(kinds)}"
    raise Unanswerable(404, message, "`intentc get` lists the kinds", kinds, NamedAs.KINDS)


async def find(live: Live, kind: str, text: str) -> Found:
    """Find what ``text`` means among the resources, claimed objects and facts of ``kind``. Raises ``Unanswerable``: 404
    for an unknown kind, 400 without a name, 409 with the candidates if several match."""
    if not text:
        raise Unanswerable(400, "no name is given", "name it by its fq_name joined by ':', a unique end of it, or uuid")
    if (word := kind.lower()) in live.names:
        outside = await called(live, word, text)
        if not outside:
            hint = "give the name as that program shows it; `intentc show` lists what exists"
            raise Unanswerable(404, f"nothing of {word} is called {text!r}", hint)
        return _outside(live.world, word, text, outside)
    declared = kind_of(live, kind)
    exact = _exact(live.world, live.planner, declared, text)
    if exact is not None:
        return exact
    names = [name async for name in _names(live.world, live.planner, declared)]
    fitting = await _meant(names, text)
    if len(fitting) > 1:
        candidates = sorted(":".join(name.fq_name) for name in fitting)
        raise _ambiguous(text, declared.name, candidates, "give more of the name, or the uuid")
    if fitting:
        (name,) = fitting
        return Found(name, _key(live.world, name))
    if is_uuid(text):
        return await _by_uuid(live, declared, text)
    if outside := await called(live, declared.name, text):
        return _outside(live.world, declared.name, text, outside)
    former = await former_resources(live, declared.name, text)
    whole = [one for one in former if ":".join(one.name.fq_name) == text]
    if len(whole or former) > 1:
        candidates = sorted(":".join(one.name.fq_name) for one in former)
        raise _ambiguous(text, declared.name, candidates, "all of them are deleted; give more of the name")
    for one in whole or former:
        return Found(one.name, None, former=one.key)
    wanted = await referenced_names(live.world, declared.name, text)
    if len(wanted) > 1:
        raise _ambiguous(text, declared.name, wanted, "none of them exists; give more of the name")
    name = await _completed(
        live.world, live.planner, declared, Name(declared.name, tuple((wanted or [text])[0].split(":")))
    )
    similar = await anyio.to_thread.run_sync(
        lambda: near(":".join(name.fq_name), [":".join(one.fq_name) for one in names])
    )
    return Found(name, None, similar)


def _outside(world: LiveWorld, kind: str, text: str, names: tuple[Name, ...]) -> Found:
    """Return the object that another program calls ``text`` (``Compiler(names=…)``). Raises as ``find``."""
    if len(names) > 1:
        candidates = [f"{name.kind} {':'.join(name.fq_name)}" for name in names]
        error = _ambiguous(text, kind, candidates, "ask for one of them, by its own kind and name")
        error.named_as = NamedAs.KINDS_AND_NAMES
        raise error
    return Found(names[0], _key(world, names[0]))


def _ambiguous(text: str, kind: str, candidates: Sequence[str], next_step: str) -> Unanswerable:
    shown = ", ".join(candidates[:_SHOWN_CANDIDATES]) + (", …" if len(candidates) > _SHOWN_CANDIDATES else "")
    message = f"{text} fits {len(candidates)} of {kind}: {shown}"
    return Unanswerable(409, message, next_step, tuple(candidates[:_MOST_CANDIDATES]))


def found_by_key(world: LiveWorld, key: Key) -> Found:
    """Return the object or fact ``key`` itself, whether its name is in force or not."""
    state = world.cache.state(key)
    if state is None or not state.fq_name:
        return Found(Name(key.kind, (key.uuid,)), key if world.exists(key) else None)
    return Found(Name(key.kind, state.fq_name), key)


def _exact(world: LiveWorld, planner: Planner, kind: Kind, text: str) -> Found | None:
    if not kind.stored:
        fact = Key(kind.name, text)
        return Found(Name(kind.name, (text,)), fact) if world.exists(fact) else None
    uuid = world.cache.names.in_force(kind.name, text)
    key = Key(kind.name, uuid or text)
    if uuid is not None or world.exists(key):
        return found_by_key(world, key)
    name = Name(kind.name, tuple(text.split(":")))
    return Found(name, None) if name in planner.book else None


def _key(world: LiveWorld, name: Name) -> Key | None:
    declared = world.schema.kinds[name.kind]
    if not declared.stored:
        return Key(name.kind, name.fq_name[0])
    return world.named(name.kind, name.fq_name)


async def _names(world: LiveWorld, planner: Planner, kind: Kind) -> AsyncIterator[Name]:
    """Yield all names of a kind: of existing objects, claimed objects and facts."""
    if not kind.stored:
        for fact in world.facts(kind.name):
            yield Name(kind.name, (fact,))
        return
    # Each is read as of one moment: the world may change between two slices.
    async for state in sliced(world.cache.states(kind.name)):
        if state.fq_name:
            yield Name(kind.name, state.fq_name)
    for name in await claimed_of(planner, kind.name):
        yield name


async def claimed_of(planner: Planner, kind: str) -> list[Name]:
    """Return the claimed objects of a kind, in slices: there may be several hundred thousand claims."""
    return [name async for name in sliced(tuple(planner.book.names())) if name.kind == kind]


async def _meant(names: Sequence[Name], text: str) -> dict[Name, None]:
    """Return the names that ``text`` means, each once."""
    found = [name async for name in sliced(names) if fits(":".join(name.fq_name), text)]
    return dict.fromkeys(meant(text, found, lambda name: (":".join(name.fq_name),)))


async def _by_uuid(live: Live, kind: Kind, uuid: str) -> Found:
    """Find the claimed object that will have this uuid, or the deleted one that had it."""
    former = live.journal.names.get(Key(kind.name, uuid))
    if former:
        return Found((await former_names(live.journal, kind.name, [former]))[former], None, former=Key(kind.name, uuid))
    meant = Found(Name(kind.name, (uuid,)), None)
    async for name in sliced(await claimed_of(live.planner, kind.name), block=1):
        for claims in live.planner.book.on(name).values():
            for claim in claims:
                if isinstance(claim, ResourceClaim) and object_uuid(live.world.installation, name, claim.owner) == uuid:
                    meant = Found(name, _key(live.world, name))
    return meant


async def _completed(world: LiveWorld, planner: Planner, kind: Kind, name: Name) -> Name:
    """Complete a name that no object has with its parent's fq_name, if it has a unique end of that."""
    *above, last = name.fq_name
    if not above:
        return name
    ending = ":".join(above)
    found: set[tuple[str, ...]] = set()
    for relation in kind.parents:
        parents = [parent async for parent in _names(world, planner, world.schema.kinds[relation.kind])]
        found.update(parent.fq_name for parent in await _meant(parents, ending))
    return Name(kind.name, (*found.pop(), last)) if len(found) == 1 else name

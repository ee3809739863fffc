"""Collects the objects around one object: relations in both directions, its outputs or owners, and facts.

The search is breadth first in a fixed order, so the same world always gives the same picture. Around a hub each kind of
neighbour gets its share of the nodes. The page and ``intentc graph`` (``cli/commands/graph.py``) draw the result.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from intentc.diagnostics.questions import Unanswerable
from intentc.engine.live import Live
from intentc.inspection.finding import find, kind_of
from intentc.inspection.resource_states import role_of
from intentc.inspection.traversal import sliced
from intentc.logic import LiveWorld
from intentc.model import Key, Name, ReferenceClaim, ResourceClaim
from intentc.model.reads import PARENT
from intentc.planning import Planner

MOST = 200
"""Most nodes of one answer."""

MAKES = "makes"
WRITES_ON = "writes on"
CONTRIBUTES = "contributes to"
"""Relations of an intent: to an object that it creates, to one whose references alone it claims, and to a fact."""

_CHUNK = 500
"""Neighbours of a hub that are sorted at once."""


class _Node(NamedTuple):
    """``uuid``: empty for a claimed object that doesn't exist yet; ``fq_name`` then has the elements of its name, which
    may contain colons."""

    kind: str
    name: str
    uuid: str
    fq_name: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return f"{self.kind}/{self.uuid or self.name}"


class _Way(NamedTuple):
    """An edge from one node to ``to``."""

    to: _Node
    relation: str
    made: bool


async def neighbourhood(
    live: Live, kind: str, name: str, *, depth: int = 1, kinds: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return ``{"center": id, "nodes": [{"id", "kind", "name", "uuid", "role", "depth"}], "edges": [{"from", "to",
    "relation", "made"}], "cut"}``: everything at most ``depth`` steps away; of ``kinds`` only, if any are given.
    ``relation``: a relation of the schema (``parent`` leads from child to parent), or one of ``makes``, ``writes on``,
    ``contributes to``. ``made``: written by a compiler. ``cut``: there are more nodes. Raises ``Unanswerable``."""
    found = await find(live, kind, name)
    if found.key is None and found.name not in live.planner.book:
        raise Unanswerable(
            404,
            f"there is no {found.name}",
            f"`intentc why {found.name.kind} {':'.join(found.name.fq_name)}` says why",
            found.near,
        )
    center = _of_name(live.world, found.name) if found.key is None else _of_key(live.world, found.key)
    around = _Around(live.world, live.planner, frozenset(kind_of(live, wanted).name for wanted in kinds))
    await around.go(center, depth)
    edges = await around.edges()
    return {"center": center.id, "nodes": around.nodes(), "edges": edges, "cut": around.cut}


class _Around:
    """Searches around one node. ``kinds``: those that are shown; empty: all."""

    def __init__(self, world: LiveWorld, planner: Planner, kinds: frozenset[str]) -> None:
        self._world = world
        self._planner = planner
        self._kinds = kinds
        self._depths: dict[_Node, int] = {}
        self.cut = False

    async def go(self, center: _Node, depth: int) -> None:
        """Find the nodes."""
        self._depths[center] = 0
        frontier = [center]
        for step in range(1, depth + 1):
            beyond = [await self._neighbours(node) for node in frontier]
            frontier = []
            for neighbour in _in_turn(beyond):
                if neighbour in self._depths:
                    continue
                if len(self._depths) >= MOST:
                    self.cut = True
                    return
                self._depths[neighbour] = step
                frontier.append(neighbour)

    def nodes(self) -> list[dict[str, Any]]:
        """Return the nodes, the nearest first."""
        return [
            {
                "id": node.id,
                "kind": node.kind,
                "name": node.name,
                "uuid": node.uuid,
                "role": role_of(self._world, self._planner, *_named(self._world, node)),
                "depth": depth,
            }
            for node, depth in self._depths.items()
        ]

    async def edges(self) -> list[dict[str, Any]]:
        """Return the edges between the nodes, in the order of the nodes."""
        place = {node: position for position, node in enumerate(self._depths)}
        found: list[dict[str, Any]] = []
        async for node in sliced(place, block=1):
            made: dict[tuple[_Node, str], bool] = {}
            for way in _ways(self._world, self._planner, node):
                if way.to in place:
                    made[way.to, way.relation] = made.get((way.to, way.relation), False) or way.made
            for to, relation in sorted(made, key=lambda key: (place[key[0]], key[1])):
                found.append({"from": node.id, "to": to.id, "relation": relation, "made": made[to, relation]})
        return found

    async def _neighbours(self, node: _Node) -> list[_Node]:
        """Return the nodes one step away: at most ``MOST`` of each kind, the first by name, kinds in turn."""
        by_kind: dict[str, set[Key | _Node]] = {}
        for way in _ways(self._world, self._planner, node):
            by_kind.setdefault(way.to.kind, set()).add(way.to)
        async for key in sliced(tuple(_leading_to(self._world, self._planner, node))):
            by_kind.setdefault(key.kind, set()).add(key)
        first = []
        for kind in sorted(by_kind):
            if not self._kinds or kind in self._kinds:
                first.append(await self._first(by_kind[kind]))
        return list(_in_turn(first))

    async def _first(self, nodes: Iterable[Key | _Node]) -> list[_Node]:
        """Return the first ``MOST`` by name, and one more if there is one."""
        waiting = list(nodes)
        first: list[_Node] = []
        async for start in sliced(range(0, len(waiting), _CHUNK), block=1):
            chunk = waiting[start : start + _CHUNK]
            news = {_of_key(self._world, node) if isinstance(node, Key) else node for node in chunk}
            first = heapq.nsmallest(MOST + 1, {*first, *news})
        return first


def _ways(world: LiveWorld, planner: Planner, node: _Node) -> Iterator[_Way]:
    """Yield the edges from a node to others: its relations, its intent's claims, its facts."""
    name, key = _named(world, node)
    claims = [claim for own in planner.book.on(name).values() for claim in own]
    wanted = {(claim.relation, claim.target) for claim in claims if isinstance(claim, ReferenceClaim)}
    resource = world.cache.shown(key) if key is not None else None
    if resource is not None:
        ours = resource.mark is not None
        for link in resource.links:
            for target in world.cache.graph.resolve(resource.kind, link):
                to = _of_key(world, target)
                made = ours if link.relation == PARENT else link.relation in resource.kind.compiler_relations
                yield _Way(to, link.relation, made or (link.relation, _named(world, to)[0]) in wanted)
    for relation, target_name in wanted:
        yield _Way(_of_name(world, target_name), relation, True)
    if key is None:
        return
    for made_name in planner.book.of(key):
        own_claims = planner.book.on(made_name).get(key, ())
        makes = any(isinstance(claim, ResourceClaim) for claim in own_claims)
        if made_name != name:
            yield _Way(_of_name(world, made_name), MAKES if makes else WRITES_ON, True)
    for fact in world.facts_of(key):
        yield _Way(_of_key(world, fact), CONTRIBUTES, True)


def _leading_to(world: LiveWorld, planner: Planner, node: _Node) -> Iterator[Key]:
    """Yield the resources with an edge to a node."""
    name, key = _named(world, node)
    yield from (origin for origin in planner.book.on(name) if origin != key)
    if key is None:
        return
    yield from world.cache.graph.referring(key)
    yield from (contributor for contributor, _ in world.contributions(key.kind, key.uuid))


def _in_turn(lists: Sequence[Sequence[_Node]]) -> Iterator[_Node]:
    """Yield the first of each list, then the second of each, and so on."""
    return (node for node in chain.from_iterable(zip_longest(*lists)) if node is not None)


def _of_key(world: LiveWorld, key: Key) -> _Node:
    return _Node(key.kind, world.name_of(key), key.uuid)


def _of_name(world: LiveWorld, name: Name) -> _Node:
    key = world.named(name.kind, name.fq_name) if name.kind in world.cache.stored else None
    joined = ":".join(name.fq_name)
    return _Node(name.kind, joined, key.uuid) if key is not None else _Node(name.kind, joined, "", name.fq_name)


def _named(world: LiveWorld, node: _Node) -> tuple[Name, Key | None]:
    """Return the name of a node, and its key if it exists."""
    key = Key(node.kind, node.uuid) if node.uuid else None
    state = world.cache.state(key) if key is not None else None
    if state is not None and state.fq_name:
        return Name(node.kind, state.fq_name), key
    return Name(node.kind, node.fq_name or (node.name,)), key

"""Finds the secrets that an output may contain: those of all resources that were read for it, also through facts.

Why in addition to ``sensitive`` in schemas: an author's code can copy a secret into any field. Whatever shows an object
removes these texts as well as the fields that its schema names. An evaluation obtains values only by reads of a
resource or of its references, and from facts, so these are followed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from intentc.inspection.traversal import FACT, contributors_read, reached
from intentc.logic import LiveWorld
from intentc.model import HeldInput, Key, Name, Resource
from intentc.model.reads import fact_read, object_read, targets_read
from intentc.model.sensitive import cleared_resource, concealed, sensitive_texts
from intentc.planning import Planner

_OF_RESOURCES = frozenset({object_read(Key("", ""))[0], targets_read(Key("", ""), "")[0]})

Behind = Mapping[Name, Sequence[Resource]]
"""Object → the resources with secrets that were read for it; objects without any are left out."""


def secrets_in(behind: Iterable[Resource]) -> frozenset[str]:
    """Return the texts in the sensitive fields of these resources."""
    return frozenset(text for resource in behind for text in sensitive_texts(resource))


def read_for(world: LiveWorld, planner: Planner, name: Name) -> tuple[Resource, ...]:
    """Return the resources with secrets that the intents that claim an object have read."""
    if not (kinds := _sensitive_kinds(world)):
        return ()
    intents = reached(planner.book.on(name), partial(contributors_read, world, sorts=frozenset({FACT})))
    reads = (read for intent in intents for read in world.reads.reads_of(intent))
    found = {Key(read[1], read[2]) for read in reads if read[0] in _OF_RESOURCES and read[1] in kinds}
    return tuple(resource for key in sorted(found) if (resource := _resource(world, key)) is not None)


def holders_of_secrets(world: LiveWorld) -> tuple[Resource, ...]:
    """Return all resources of kinds with sensitive fields."""
    keys = (key for kind in sorted(_sensitive_kinds(world)) for key in world.cache.all(kind))
    return tuple(resource for key in keys if (resource := _resource(world, key)) is not None)


def read_for_each(world: LiveWorld, planner: Planner, holders: Iterable[Resource]) -> Behind:
    """Return the same for all objects at once, starting at the resources with secrets. It makes single look-ups only,
    so another thread may run it."""

    def readers_of_facts(intent: Key) -> Iterator[Key]:
        for fact in world.facts_of(intent):
            yield from world.reads.readers(fact_read(fact.kind, fact.uuid))

    found: dict[Name, list[Resource]] = {}
    for resource in holders:
        intents = reached(_readers(world, resource), readers_of_facts)
        for name in {name for intent in intents for name in planner.book.of(intent)}:
            found.setdefault(name, []).append(resource)
    return found


def concealed_outputs(world: LiveWorld, planner: Planner, documents: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return ``documents``, outputs as plain JSON, without the secrets of their own schemas and of what was read for
    them."""
    behind = read_for_each(world, planner, holders_of_secrets(world))
    found = []
    for document in documents:
        holders = behind.get(Name(document["kind"], tuple(document["fq_name"])), ())
        kind = world.schema.kind(document["kind"])
        found.append(cleared_resource(secrets_in(holders), concealed(kind, document)))
    return found


def _readers(world: LiveWorld, resource: Resource) -> frozenset[Key]:
    reads = [object_read(resource.key), *(targets_read(resource.key, to) for to in resource.kind.relations)]
    return frozenset(reader for read in reads for reader in world.reads.readers(read))


def _sensitive_kinds(world: LiveWorld) -> frozenset[str]:
    """Leave out kinds that only compilers make: their secrets come from other resources."""
    return frozenset(kind.name for kind in world.schema if kind.stored and kind.sensitive and not kind.system)


def _resource(world: LiveWorld, key: Key) -> Resource | None:
    try:
        return world.resource(key)
    except HeldInput:
        return None

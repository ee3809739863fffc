"""Which secrets may stand in what compilers made: those of the resources that were read for it, over facts, too.

Why beside ``sensitive`` in schemas: an author's code can copy a secret into any field. Whoever shows an object takes
these texts out of it besides what its own schema says. Values are only given by reads of a resource or of its
references, and by facts, so those are followed; what is shown, and how, is left to others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from intentc.model import HeldInput, Key, Name, Resource
from intentc.model.reads import fact_read, object_read, targets_read
from intentc.model.sensitive import cleared_resource, concealed, sensitive_texts

from ..engine.parts import Parts

_FACT = fact_read("", "")[0]
_OF_RESOURCES = frozenset({object_read(Key("", ""))[0], targets_read(Key("", ""), "")[0]})

Behind = Mapping[Name, Sequence[Resource]]
"""Object → the resources with secrets that were read for it; objects without such are left out."""


def secrets_in(behind: Iterable[Resource]) -> frozenset[str]:
    """The texts in the sensitive fields of these resources."""
    return frozenset(text for resource in behind for text in sensitive_texts(resource))


def read_for(parts: Parts, name: Name) -> tuple[Resource, ...]:
    """The resources with secrets that were read for one object, by whoever claims it."""
    logic = parts.logic
    kinds = _sensitive_kinds(parts)
    waiting = [*parts.book.on(name)] if kinds else []
    seen, found = set(waiting), set[Key]()
    while waiting:
        for read in logic.reads.reads_of(waiting.pop()):
            if read[0] == _FACT:
                news = {contributor for contributor, _ in logic.contributions(read[1], read[2])} - seen
                seen |= news
                waiting += news
            elif read[0] in _OF_RESOURCES and read[1] in kinds:
                found.add(Key(read[1], read[2]))
    return tuple(resource for key in sorted(found) if (resource := _resource(parts, key)) is not None)


def holders_of_secrets(parts: Parts) -> tuple[Resource, ...]:
    """All resources that have secrets, or may have."""
    keys = (key for kind in sorted(_sensitive_kinds(parts)) for key in parts.logic.cache.all(kind))
    return tuple(resource for key in keys if (resource := _resource(parts, key)) is not None)


def read_for_each(parts: Parts, holders: Iterable[Resource]) -> Behind:
    """The same for all objects at once, from the resources with secrets onward. Only looks single things up, so that
    another thread may do it."""
    found: dict[Name, list[Resource]] = {}
    for resource in holders:
        names: dict[Name, None] = {}
        waiting = [*_readers(parts, resource)]
        seen = set(waiting)
        while waiting:
            intent = waiting.pop()
            names.update(dict.fromkeys(parts.book.of(intent)))
            for fact in parts.logic.facts_of(intent):
                news = parts.logic.reads.readers(fact_read(fact.kind, fact.uuid)) - seen
                seen |= news
                waiting += news
        for name in names:
            found.setdefault(name, []).append(resource)
    return found


def concealed_outputs(parts: Parts, outputs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """``outputs``, as plain JSON, without what must not show: neither by their schemas nor by what was read for
    them."""
    behind = read_for_each(parts, holders_of_secrets(parts))
    found = []
    for output in outputs:
        holders = behind.get(Name(output["kind"], tuple(output["fq_name"])), ())
        found.append(cleared_resource(secrets_in(holders), concealed(parts.schema.kind(output["kind"]), output)))
    return found


def _readers(parts: Parts, resource: Resource) -> frozenset[Key]:
    reads = [object_read(resource.key), *(targets_read(resource.key, to) for to in resource.kind.relations)]
    return frozenset(reader for read in reads for reader in parts.logic.reads.readers(read))


def _sensitive_kinds(parts: Parts) -> frozenset[str]:
    """Objects that only compilers make are left out: what is secret in them they have from others."""
    return frozenset(kind.name for kind in parts.schema if kind.stored and kind.sensitive and not kind.system)


def _resource(parts: Parts, key: Key) -> Resource | None:
    try:
        return parts.logic.resource(key)
    except HeldInput:
        return None

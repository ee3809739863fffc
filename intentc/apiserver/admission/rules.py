"""Declares the interface of one kind's rules, and finds the objects that resources name in texts.

Rules say what they read, check and fill in, which numbers and addresses they request, and which other resources
(companions) are created, changed and deleted along with one.

Why it exists: rules write nothing. They read other resources (a port its network) through a ``Reader``, and *name*
what ``rule_execution`` is to allocate. The default of each part is "nothing". ``prepare`` and ``admit`` may change the
document that they get, in place; the other parts of a rule change nothing.

A name in a text does what a reference does, so a user must have the same right to what it names (``joined``;
docs/security.md, "Names that act like references").
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

from intentc.model.names import Name

from ..documents import Document
from ..rule_reader import Reader
from ..sources import Source
from .subnets import IPAddress, Subnet


class Allocation(NamedTuple):
    """Allocate a number: ``value``, or the lowest free one; ``field`` gets it with ``offset`` added.

    ``form``: a format string for the number and the field's value so far, in place of the plain number."""

    pool: str
    owner: str
    value: int | None = None
    field: str = ""
    offset: int = 0
    form: str = ""


class Release(NamedTuple):
    """Free all numbers of ``owner``."""

    pool: str
    owner: str


class PoolRange(NamedTuple):
    """Give a pool the range [start, end) in place of its present ranges. Taken numbers outside are kept and not
    allocated again."""

    pool: str
    start: int
    end: int


class Address(NamedTuple):
    """Allocate an address of ``subnets`` to ``owner``: ``address``, or one of the first subnet that has a free one.

    ``field`` gets the address; ``uuid_field`` and ``subnet_field``, if they are named, its subnet."""

    owner: str
    subnets: tuple[Subnet, ...]
    field: str
    address: str = ""
    uuid_field: str = ""
    subnet_field: str = ""


class DropSubnet(NamedTuple):
    """Forget a subnet of ``field``. Rejected with 409 while one of its addresses is taken, unless ``forced``."""

    subnet: Subnet
    field: str
    forced: bool = False


class Reserve(NamedTuple):
    """``address`` of ``subnet`` is reserved from now on. Rejected with 409 if it is taken."""

    subnet: Subnet
    address: IPAddress
    field: str


AddressAction = Address | DropSubnet | Release | Reserve


def subnet_changes(
    before: Iterable[Subnet], after: Iterable[Subnet], field: str, *, forced: bool
) -> Iterator[DropSubnet | Reserve]:
    """What follows from a change of the subnets in ``field``. ``forced``: their holder is deleted."""
    kept = {subnet.pool: subnet for subnet in after}
    for subnet in before:
        now = kept.get(subnet.pool)
        if now is None:
            yield DropSubnet(subnet, field, forced)
        elif now.service is not None and now.service != subnet.service and now.service in now.network:
            yield Reserve(now, now.service, field)


class Change(NamedTuple):
    """A change of one resource.

    ``before``: the stored version, None on creation. ``after``: the new one, which ``admit`` completes in place, None
    on deletion. ``given``: the fields that the client sent. ``privileged``: the server itself makes the change (seeds).
    ``by_compiler``: the caller may write the fields that schemas give to compilers. ``project``: the caller's."""

    uuid: str
    before: Document | None
    after: Document | None
    given: frozenset[str] = frozenset()
    privileged: bool = False
    by_compiler: bool = False
    project: str = ""

    def changes(self, field: str) -> bool:
        """Whether the client gave ``field`` another value than before (missing, null and zero are equal)."""
        return field in self.given and self.value(self.before, field) != self.value(self.after, field)

    @property
    def new(self) -> Document:
        """The new version, of a creation or a change."""
        assert self.after is not None
        return self.after

    @property
    def old(self) -> Document:
        """The stored version, of a change or a deletion."""
        assert self.before is not None
        return self.before

    @staticmethod
    def value(document: Document | None, field: str) -> Any:
        """The value of a field; None for all forms of unset."""
        return ((document or {}).get(field)) or None


class Rules:
    """One kind's rules.

    ``allocates``: a creation or change may allocate numbers. ``adopts_companions``: a companion that exists already
    is taken as it is. ``restores_companions``: an update creates those that are missing. ``forces_companions``:
    companions are deleted even if others hold them."""

    kind: ClassVar[str] = ""
    allocates: ClassVar[bool] = False
    adopts_companions: ClassVar[bool] = False
    restores_companions: ClassVar[bool] = False
    forces_companions: ClassVar[bool] = True

    def prepare(self, document: Document) -> None:
        """Change the fields of a new resource before its name and its references are resolved.

        For example, remove references to companions, which may not exist yet: so a resource that was exported can be
        created again."""

    def joined(self, document: Document) -> Iterable[Name]:
        """What a resource acts on by naming it in a field, without being asked for: as for a reference, a user must be
        allowed to refer to it."""
        return ()

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        """Check a creation or a change and complete ``change.after``. Raises subclasses of ``ApiError``."""

    async def verify(self, change: Change, reader: Reader) -> None:
        """Check a creation or a change against the whole request. Raises subclasses of ``ApiError``."""

    def allocations(self, change: Change) -> Iterable[Allocation | Release | PoolRange]:
        """The allocations to make and to release, also for deletions."""
        return ()

    async def addresses(self, change: Change, reader: Reader) -> AsyncIterator[AddressAction]:
        """The addresses to allocate and to free, also for deletions; each is carried out before the next one is asked
        for. Raises subclasses of ``ApiError``."""
        actions: tuple[AddressAction, ...] = ()
        for action in actions:
            yield action

    def companions(self, change: Change) -> Iterable[tuple[str, Document]]:
        """The (kind, document) pairs to create along with a created resource."""
        return ()

    def companions_changed(self, change: Change) -> Iterable[tuple[Name, Document]]:
        """The fields to write on companions along with a changed resource."""
        return ()

    def deleted_companions(self, change: Change) -> Iterable[Name]:
        """The resources to delete along with a deleted resource."""
        return ()

    def check_deletion(self, change: Change) -> None:
        """Check a deletion that a client requests. Raises subclasses of ``ApiError``."""

    async def verify_deletion(self, change: Change, reader: Reader) -> None:
        """Check a deletion against the whole request. Raises subclasses of ``ApiError``."""


_PARTS = {"service_instance": 3, "virtual_DNS": 2}
"""Kinds in whose place a text may be something else, such as an address → the number of parts of their names."""

_INSTANCE = "routing_instance"
_NO_INSTANCE = "-1"
"""Contrail's clients write this where they mean no routing instance."""


def named(kind: str, *texts: str | None) -> Iterator[Name]:
    """The objects of a kind that these texts name: fq_names joined by colons."""
    for text in texts:
        parts = tuple((text or "").split(":"))
        if text and len(parts) == _PARTS.get(kind, len(parts)):
            yield Name(kind, parts)


def leads_to(entry: Any, name: str) -> bool:
    """Whether a client's reference names a target called ``name``."""
    to = entry.get("to") if isinstance(entry, dict) else None
    return isinstance(to, list) and to[-1:] == [name]


def asked_for(name: Name) -> tuple[Name, ...]:
    """The named object, and those above it of which a right is enough: a network, for its routing instances."""
    if name.kind == _INSTANCE:
        return name, Name("virtual_network", name.fq_name[:-1])
    return (name,)


def named_by_action(action: Document | None) -> Iterator[Name]:
    """What the ``action_list`` of a rule names: services, routing instances, and how packets are marked."""
    action = action or {}
    yield from mirrored_to(action)
    yield from named("service_instance", *(action.get("apply_service") or ()))
    yield from named(_INSTANCE, action.get("assign_routing_instance"))
    yield from named("qos_config", action.get("qos_action"))


def mirrored_to(mirrored: Document | None) -> Iterator[Name]:
    """What ``mirror_to`` of a rule or of a port names: an analyzer, and the routing instance that leads to it."""
    target = (mirrored or {}).get("mirror_to") or {}
    yield from named("service_instance", target.get("analyzer_name"))
    instance = target.get("routing_instance")
    yield from named(_INSTANCE, instance if instance != _NO_INSTANCE else None)

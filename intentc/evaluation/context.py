"""``ctx``: everything that an evaluation may read and report, with each read recorded (docs/engine.md §3.1).

It answers from a ``World`` (implemented by ``logic``), hides what compilers wrote, and collects the reads, allocation
requests, problems and reasons for the runner. One context serves one run.

State: what that run has read, requested, reported and given as reasons, and what interrupts it; ``runner`` takes that
at its end. It never changes the ``World``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

from intentc.model import (
    Claim,
    HeldInput,
    Key,
    Name,
    Problem,
    Read,
    Reason,
    Resource,
    ResourceClaim,
    Source,
    World,
    Writer,
    claimed,
    claimed_parts,
    object_uuid,
)
from intentc.model import reads as read_of
from intentc.model.kind import Relation
from intentc.model.ownership import is_made_by, is_our_entry
from intentc.model.reads import PARENT
from intentc.model.sensitive import sensitive_texts, without
from intentc.model.values import thaw
from intentc.outgoing import OBSERVED

from .budget import BudgetExceeded, LimitExceeded, Limits
from .intent import View
from .visibility import Visibility, documents_in

_WITH_VALUES = frozenset({read_of.object_read(Key("", ""))[0], read_of.targets_read(Key("", ""), "")[0]})
"""The sorts of reads that return values of an object; their second and third elements are its key."""


class AllocationRequest(NamedTuple):
    """An allocation that an evaluation requests and that does not exist yet (docs/engine.md §8).

    ``owner``: ``<installation>/<origin uuid>/<purpose>``. ``name``: the origin's fq_name joined by ``:``, for people
    and for the order in which requests are granted."""

    pool: str
    owner: str
    origin: Key
    name: str


class Waiting(Exception):
    """Something must exist first. The intent keeps its last claims until ``read`` changes (docs/engine.md §4.2)."""

    def __init__(self, read: Read) -> None:
        super().__init__(f"waiting for {' '.join(read)}")
        self.read = read


class OnHold(Exception):
    """The evaluation found its input unusable: what the intent wanted of other objects stays (docs/engine.md §4.5)."""


class Context:
    """The world as one evaluation sees it.

    >>> import anyio
    >>> from intentc import Compiler, Intent
    >>> from intentc.testing import service_for
    >>> class DomainIntent(Intent):
    ...     kind = "domain"
    ...     def evaluate(self, ctx):
    ...         if ctx.find("project", (*self.fq_name, "shop")) is None:
    ...             ctx.problem("NoShop", f"{self.fq_name[0]} has no project shop; create it")
    ...         return ()
    >>> async def problems(*resources):
    ...     service = service_for(Compiler("contrail", [DomainIntent]))
    ...     await service.create(*resources)
    ...     return [problem.message for problem in service.problems if problem.name == "valley"]
    >>> valley = {"kind": "domain", "data": {"fq_name": ["valley"]}}
    >>> anyio.run(problems, valley)
    ['valley has no project shop; create it']
    >>> anyio.run(problems, valley, {"kind": "project", "data": {"fq_name": ["valley", "shop"]}})
    []
    """

    def __init__(
        self,
        world: World,
        visibility: Visibility,
        installation: str,
        key: Key,
        limits: Limits,
        *,
        explaining: bool = False,
    ) -> None:
        self._world = world
        self._visibility = visibility
        self._installation = installation
        self.limits = limits
        self._max_reads = limits.reads
        self.key = key
        """The intent under evaluation."""
        self.explaining = explaining
        """Whether the run was started to explain the intent. Only then ``because`` records anything, so skip expensive
        reasons otherwise."""
        self.reasons: list[tuple[Name, Reason]] = []
        self._resources: dict[Key, Resource] = {}
        self.reads: set[Read] = set()
        self.requests: list[AllocationRequest] = []
        self.problems: list[Problem] = []
        self.interruption: Exception | None = None
        """The exception that ends the evaluation, even if the author's code swallows it."""
        self.overrun = ""
        """How the evaluation's time was spent, once it is over."""

    # What authors call

    def get(self, kind: str, uuid: str) -> View | None:
        """The resource with this uuid, None if there is none."""
        self._visibility.kind(kind)
        key = Key(kind, uuid)
        self._record(read_of.object_read(key))
        return View(self, key) if self._resource(key) is not None else None

    def find(self, kind: str, fq_name: tuple[str, ...]) -> View | None:
        """The resource with this name, None if there is none."""
        self._visibility.kind(kind)
        self._record(read_of.name_read(kind, fq_name))
        key = self._world.named(kind, fq_name)
        return View(self, key) if key is not None else None

    def observed(self, manifest: ResourceClaim) -> View | None:
        """The state of a claimed manifest in the cluster: the resource ``observed`` that a bridge wrote for it, or None
        until a bridge has looked. An evaluation that reads it runs again when the answer changes."""
        return self.find(OBSERVED, manifest.name.fq_name)

    def is_taken(self, kind: str, fq_name: tuple[str, ...]) -> bool:
        """Whether an object that no compiler of this installation made has this name. An intent that would create such
        an object must then choose another name."""
        self._visibility.kind(kind)
        self._record(read_of.taken_read(kind, fq_name))
        key = self._world.named(kind, fq_name)
        name = Name(kind, tuple(fq_name))
        if key is None or key.uuid == object_uuid(self._installation, name, self.key.uuid):
            return False
        try:
            found = self._world.resource(key)
        except HeldInput:
            return True
        return found is not None and not is_made_by(self._installation, found.mark, name, key.uuid)

    def is_made(self, claim: ResourceClaim) -> bool:
        """Whether the object of a claim exists, and was made for the owner of the claim and for no other intent."""
        self._visibility.kind(claim.name.kind)
        self._record(read_of.name_read(*claim.name))
        key = self._world.named(*claim.name)
        return key is not None and key.uuid == object_uuid(self._installation, claim.name, claim.owner)

    def wait_for(self, kind: str, fq_name: tuple[str, ...]) -> View:
        """The resource with this name; the intent waits while there is none."""
        found = self.find(kind, fq_name)
        if found is None:
            self._interrupt(Waiting(read_of.name_read(kind, fq_name)))
        return found

    def select(self, kind: str, index: str, value: str) -> tuple[View, ...]:
        """The resources of ``kind`` that offer ``value`` in an index of their schema, sorted by fq_name."""
        self._visibility.check_index(kind, index)
        self._record(read_of.index_read(kind, index, value))
        return tuple(View(self, key) for key in self._world.select(kind, index, value))

    def all(self, kind: str) -> tuple[View, ...]:
        """Every resource of ``kind``, sorted by fq_name. The intent runs again whenever one is created or deleted."""
        return self.select(kind, "all", "")

    def fact(self, kind: str, name: str) -> Any:
        """The value of a fact, None while no intent yields it. If intents disagree: the first contributor's value, and
        a problem."""
        found = self.contributions(kind, name)
        if not found:
            return None
        if any(value != found[0][1] for _, value in found):
            who = ", ".join(str(key) for key, _ in found)
            self.problem("ContradictingFacts", f"{kind} {name} has different values from {who}; {found[0][0]} counts")
        return found[0][1]

    def contributions(self, kind: str, name: str) -> tuple[tuple[Key, Any], ...]:
        """The contributions to a fact: (contributor, value), sorted by contributor."""
        self._visibility.check_fact(kind)
        self._record(read_of.fact_read(kind, name))
        return self._world.contributions(kind, name)

    def contributed(self, kind: str, name: str) -> bool:
        """Whether any intent yields a fact. The reader runs again when the first contribution is made and when the last
        one ends, not for those in between. Use it for facts with very many contributors."""
        self._visibility.check_fact(kind)
        self._record(read_of.presence_read(kind, name))
        return self._world.contributed(kind, name)

    def allocate(self, pool: str, purpose: str) -> int:
        """The number from ``pool`` that belongs to this intent for ``purpose``: the same for its whole life. While
        there is none it is requested, and the intent waits (docs/engine.md §8). ``pool``: also one of a family, such as
        ``rows:north`` of ``rows:``, which is created with its first number."""
        return self.allocate_all([(pool, purpose)])[0]

    def allocate_all(self, wanted: Iterable[tuple[str, str]]) -> list[int]:
        """As ``allocate`` for each (pool, purpose), in their order. Missing ones are requested together, and the intent
        runs again once it has all of them. Which of two from one pool is the lower number is undefined."""
        numbers: list[int] = []
        missing: list[Read] = []
        for pool, purpose in wanted:
            owner = f"{self._installation}/{self.key.uuid}/{purpose}"
            read = read_of.allocation_read(pool, owner)
            self._record(read)
            number = self._world.allocation(pool, owner)
            if number is None:
                self.requests.append(AllocationRequest(pool, owner, self.key, ":".join(self.fq_name(self.key))))
                missing.append(read)
            else:
                numbers.append(number)
        if missing:
            self._interrupt(Waiting(missing[0]))
        return numbers

    def hold(self, reason: str) -> NoReturn:
        """End the evaluation, since its input is unusable. The intent keeps the claims and facts of its last complete
        evaluation. ``reason``: what is wrong and what to do, for people.

        Claims on status that were made before take effect; other claims do not."""
        self._interrupt(OnHold(self.redacted(str(reason))))

    def setting(self, name: str, *default: Any) -> Any:
        """A value of the compilers' configuration; ``default`` if nobody sets it. Raises ``KeyError`` without one."""
        self._record(read_of.setting_read(name))
        try:
            return self._world.setting(name)
        except KeyError:
            if not default:
                raise
            return default[0]

    def documents(self, text: str) -> list[Any]:
        """The YAML or JSON documents in the text of a field, as plain JSON, without empty ones. Raises ``InvalidInput``
        with the line if the text can't be read or is too large."""
        return documents_in(text)

    def described(self, manifest: Any) -> ResourceClaim:
        """A claim on the resource that ``manifest`` (plain JSON, any version) describes, owned by this intent and
        deleted with it. Raises ``InvalidInput`` where the API server would reject it."""
        name, fields = self._visibility.described(manifest)
        return ResourceClaim(name, None, self.key.uuid, tuple(sorted(fields.items())))

    def because(self, claim: Claim, *sources: Source, part: str = "") -> None:
        """Give a reason for a part of the object of ``claim``; recorded only if ``explaining``.

        All ``sources`` together suffice for the part, and each is needed; several calls are several reasons. Without
        ``part`` the reason is about the whole object, or about the references or the property that are claimed. It
        reads and changes nothing. Without any reason the intent's own resource counts, or the contributors to the
        fact."""
        if not self.explaining:
            return
        if not isinstance(part, str) or not all(isinstance(source, Source) for source in sources):
            raise TypeError("because takes a claim, Sources, and the name of a part")
        if len(self.reasons) >= self.limits.reasons:
            self._interrupt(LimitExceeded(f"more than {self.limits.reasons:,} reasons; give reasons for larger parts"))
        parts = (part,) if part or isinstance(claim, ResourceClaim) else claimed_parts(claim)
        self.reasons.extend((claimed(claim), Reason(each, sources)) for each in parts)

    def problem(self, reason: str, message: str) -> None:
        """Report a problem with this intent's resource; the evaluation continues. ``reason``: a CamelCase word for
        programs; ``message``: what is wrong and what to do."""
        self.problems.append(self.problem_of(reason, message))

    def problem_on(self, kind: str, name: str, reason: str, message: str) -> None:
        """Report a problem with another resource, without reading it; ``name``: its fq_name joined by ``:``. For
        intents of facts, since people never fix the fact itself. A problem that is reported twice counts once."""
        problem = Problem(kind, name, reason, self.redacted(message))
        if problem not in self.problems:
            self.problems.append(problem)

    # What views call

    def fq_name(self, key: Key) -> tuple[str, ...]:
        if not self._visibility.kind(key.kind).stored:
            return (key.uuid,)
        return self._present(key).fq_name

    def values(self, key: Key) -> tuple[Any, frozenset[str]]:
        """The fields as a struct, and the names of those that may be read."""
        return self._present(key).values(), self._visibility.fields(key.kind)

    def metadata(self, key: Key, part: str, name: str = "") -> Any:
        """A part of an object's metadata; ``name``: of one label or annotation, None if it is not there."""
        self._record(read_of.usable_read(key))
        self._record(read_of.metadata_read(key, part, name) if name else read_of.metadata_read(key, part))
        found = self._resource(key)
        if found is None:
            raise LookupError(f"{key} does not exist; views of absent objects come from a wrong key")
        value = getattr(found.values().metadata, part)
        return value.get(name) if name else value

    def has_metadata(self, kind: str) -> bool:
        return self._visibility.kind(kind).written_as_manifests

    def texts_with(self, key: Key, mark: str) -> tuple[tuple[str, str], ...]:
        resource = self._present(key)
        if mark.encode() not in resource.raw:
            return ()
        values = resource.values()
        fields = ((field, thaw(getattr(values, field))) for field in sorted(self._visibility.fields(key.kind)))
        return tuple((path, text) for field, value in fields for path, text in _texts(field, value) if mark in text)

    def rejection(self, kind: str, field: str) -> str:
        return self._visibility.rejection(kind, field)

    def references(self, key: Key, relation: str) -> tuple[tuple[View, Any], ...]:
        declared = self._visibility.relation(key.kind, relation)
        self._record(read_of.targets_read(key, relation))
        targets = self._world.targets(key, relation)
        if declared is not None and declared.writer is Writer.SHARED:
            targets = tuple(t for t in targets if not self._ours(key, t.key, declared, t.attribute))
        return tuple((View(self, target.key), target.attribute) for target in targets)

    def written_references(self, key: Key, relation: str) -> tuple[tuple[View | None, Any], ...]:
        declared = self._visibility.relation(key.kind, relation)
        if declared is None or declared.writer is not Writer.USER:
            raise AttributeError(f"{key.kind}.{relation}_refs: only references that users alone write have an order")
        self._record(read_of.targets_read(key, relation))
        targets = {target.key for target in self._world.targets(key, relation)}
        found: list[tuple[View | None, Any]] = []
        for written in self._present(key).references(relation):
            target = Key(relation, written.uuid) if written.uuid else self._world.named(relation, written.to)
            view = View(self, target) if target is not None and target in targets else None
            found.append((view, written.attribute))
        return tuple(found)

    def parent(self, key: Key) -> View | None:
        self._record(read_of.targets_read(key, PARENT))
        found = self._world.targets(key, PARENT)
        return View(self, found[0].key) if found else None

    def children(self, key: Key, kind: str) -> tuple[View, ...]:
        self._visibility.kind(kind)
        self._record(read_of.sources_read(key, kind, PARENT))
        return tuple(View(self, source) for source in self._world.sources(key, kind, PARENT))

    def back_references(self, key: Key, kind: str, relation: str) -> tuple[View, ...]:
        declared = self._visibility.relation(kind, relation)
        self._record(read_of.sources_read(key, kind, relation))
        sources = self._world.sources(key, kind, relation)
        if declared is not None and declared.writer is Writer.SHARED:
            sources = tuple(s for s in sources if not self._ours(s, key, declared, self._attribute(s, key, declared)))
        return tuple(View(self, source) for source in sources)

    # What the runner calls

    def problem_of(self, reason: str, message: str) -> Problem:
        """A problem on this intent's resource. Reads nothing: it must work when everything else fails."""
        message = self.redacted(message)
        try:
            resource = self._resource(self.key)
        except HeldInput:
            resource = None
        if resource is None:
            return Problem(self.key.kind, self.key.uuid, reason, message, str(self.key))
        source = f"{self.key}@{resource.mod_revision}"
        return Problem(self.key.kind, ":".join(resource.fq_name), reason, message, source)

    def redacted(self, text: str) -> str:
        """``text`` without the sensitive values of anything that was read: authors' messages contain values, and are
        shown to people who may not read the resources."""
        kinds = {read[1] for read in self.reads if read[0] in _WITH_VALUES and self._visibility.kind(read[1]).sensitive}
        if not kinds:
            return text
        secrets: set[str] = set()
        for key in {Key(read[1], read[2]) for read in self.reads if read[0] in _WITH_VALUES and read[1] in kinds}:
            with suppress(HeldInput):
                resource = self._world.resource(key)
                secrets |= sensitive_texts(resource) if resource is not None else set()
        return without(secrets, text)

    def generation(self, name: Name) -> int:
        """The generation of the resource of this name, 0 if it has none. Recorded as a read."""
        self._record(read_of.name_read(name.kind, name.fq_name))
        key = self._world.named(name.kind, name.fq_name)
        if key is None:
            return 0
        return int(self.metadata(key, "generation")) if self.has_metadata(name.kind) else 0

    def exists(self) -> bool:
        """Whether the intent exists: stored or, for a fact, contributed to. Raises ``HeldInput``."""
        if not self._visibility.kind(self.key.kind).stored:
            return self.contributed(self.key.kind, self.key.uuid)
        self._record(read_of.object_read(self.key))
        return self._resource(self.key) is not None

    def is_being_deleted(self) -> bool:
        """Whether the resource of this intent waits for its finalizers. It is recorded, even after the evaluation has
        ended."""
        if not self._visibility.kind(self.key.kind).written_as_manifests:
            return False
        self.reads |= {read_of.usable_read(self.key), read_of.metadata_read(self.key, "deletionTimestamp")}
        try:
            resource = self._resource(self.key)
        except HeldInput:
            return False
        return resource is not None and resource.is_being_deleted

    def expire(self, message: str) -> None:
        """End the time of this evaluation: no further read is answered."""
        self.overrun = message
        self._max_reads = -1

    def _record(self, read: Read) -> None:
        self.reads.add(read)
        if len(self.reads) > self._max_reads:
            if self.overrun:
                raise BudgetExceeded(self.overrun)
            self._interrupt(LimitExceeded(f"more than {self._max_reads:,} reads; read less, or through an index"))

    def _interrupt(self, exception: Exception) -> NoReturn:
        self.interruption = self.interruption or exception
        raise exception

    def _resource(self, key: Key) -> Resource | None:
        found = self._resources.get(key)
        if found is None:
            try:
                found = self._world.resource(key)
            except HeldInput as held:
                self.interruption = self.interruption or held
                raise
            if found is not None:
                self._resources[key] = found
        return found

    def _present(self, key: Key) -> Resource:
        self._record(read_of.object_read(key))
        found = self._resource(key)
        if found is None:
            raise LookupError(f"{key} does not exist; views of absent objects come from a wrong key")
        return found

    def _ours(self, holder: Key, target: Key, relation: Relation, attribute: Any) -> bool:
        """Whether we wrote the reference (docs/engine.md §5.2): by its attribute, its target, or both
        ends. Not recorded as a read: our objects are never renamed, and keep their marks."""
        resource = self._resource(target)
        return is_our_entry(
            relation,
            holder.uuid,
            target=resource.fq_name if resource is not None else (),
            uuid=target.uuid,
            attribute=attribute,
            installation=self._installation,
            both_made=self._is_made(target) and self._is_made(holder),
        )

    def _is_made(self, key: Key) -> bool:
        """Whether we made the object. Who made one that can't be read is unknown, so it counts as another's."""
        try:
            resource = self._resources.get(key) or self._world.resource(key)
        except HeldInput:
            return False
        return resource is not None and is_made_by(self._installation, resource.mark, resource.name, key.uuid)

    def _attribute(self, holder: Key, target: Key, relation: Relation) -> Any:
        """The attribute of a reference, where that decides whose the reference is."""
        if relation.ours_with is None:
            return None
        self._record(read_of.targets_read(holder, relation.name))
        return next((t.attribute for t in self._world.targets(holder, relation.name) if t.key == target), None)


def _texts(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """(path, text) of all texts in plain JSON."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(f"{path}.{name}", inner)
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _texts(f"{path}[{position}]", inner)
